import { PolicyError, retry } from '@sluice/core/retry';
import { expect, test } from 'vitest';
import { virtualClock } from '../src/testing/virtual-clock.js';

const options = { attempts: 3, backoff: { constant: '1s' }, jitter: 'none' } as const;

test('tries again, gives up, stops', async () => {
  const clock = virtualClock();
  const retries = retry({ ...options, clock });
  const heard: unknown[] = [];
  retries.on(({ kind, reason, until }) => heard.push([kind, reason, until]));
  let n = 0;
  const result = retries.execute(() => Promise.reject(new Error(`no ${++n}`))).catch((e: Error) => e.message);
  await clock.advance(2000);
  expect(await result).toBe('no 3');
  expect(heard).toEqual([
    ['retry', 'fail', 1000],
    ['retry', 'fail', 2000],
    ['end', 'attempts', undefined],
  ]);
  const controller = new AbortController();
  const gone = retries.execute(() => Promise.reject(new Error('no')), { signal: controller.signal });
  await clock.advance(10);
  controller.abort('enough');
  await expect(gone).rejects.toBe('enough');
  await clock.advance(5000);
  expect(clock.timers).toBe(0);
});

test('decorrelated delays remember the one before', async () => {
  const clock = virtualClock();
  const retries = retry({ attempts: 50, backoff: { decorrelated: '100ms', max: '5s' }, clock });
  const delays: number[] = [];
  retries.on('retry', ({ at, until }) => delays.push((until as number) - at));
  const result = retries.execute(() => Promise.reject(new Error('no'))).catch(() => {});
  await clock.advance(1e6);
  await result;
  expect(delays).toHaveLength(49);
  expect(Math.max(...delays)).toBeGreaterThan(300);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(100);
});

test('delays one by one, and no attempt after the longest time', async () => {
  const clock = virtualClock();
  const retries = retry({
    attempts: 9,
    backoff: { delays: ['0s', '2s'] },
    jitter: 'none',
    max_elapsed: '6s',
    clock,
  });
  const heard: unknown[] = [];
  retries.on(({ kind, reason, at, until }) => heard.push([kind, reason, at, until]));
  await clock.advance(1000);
  const result = retries.execute(() => Promise.reject(new Error('no'))).catch(() => {});
  await clock.advance(1e6);
  await result;
  expect(heard).toEqual([
    ['retry', 'fail', 1000, 1000],
    ['retry', 'fail', 1000, 3000],
    ['retry', 'fail', 3000, 5000],
    ['end', 'elapsed', 5000, undefined],
  ]);
});

test('shadow, values, wishes', async () => {
  const clock = virtualClock();
  await expect(
    retry({ ...options, shadow: true, clock }).execute(() => Promise.reject(new Error('once'))),
  ).rejects.toThrow('once');
  const values = retry({
    ...options,
    clock,
    outcome: (_, v) => (v === 2 ? 'ok' : 'throttle'),
    retryAfter: () => 7000,
  });
  const result = values.execute(({ attempt }) => attempt);
  await clock.advance(6999);
  await clock.advance(1);
  expect(await result).toBe(2);
  expect(() => retry({ budget: '20%' })).toThrow(PolicyError);
  expect(() => retry({ refusals: 'wait' } as object)).toThrow(PolicyError);
});
