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

test('a delay of its own', async () => {
  const clock = virtualClock();
  const asked: unknown[] = [];
  const own = [30, Number.NaN, -5];
  const retries = retry({
    attempts: 4,
    clock,
    delay: ({ attempt, error }) => {
      asked.push([attempt, (error as Error).message]);
      return own[attempt - 1] as number;
    },
  });
  const delays: unknown[] = [];
  retries.on('retry', ({ delay }) => delays.push(delay));
  let n = 0;
  const result = retries.execute(() => Promise.reject(new Error(`no ${++n}`))).catch(() => {});
  await clock.advance(1000);
  await result;
  expect(asked).toEqual([
    [1, 'no 1'],
    [2, 'no 2'],
    [3, 'no 3'],
    [4, 'no 4'],
  ]);
  expect(delays).toEqual([30, 0, 0]);
  expect(() => retry({ delay: 5 as never })).toThrow('retry.delay: found 5; allowed a function');
});

test('the longest delay counts, and one that throws does not', async () => {
  const clock = virtualClock();
  let own = () => 5000;
  const retries = retry({ ...options, attempts: 2, clock, delay: () => own() });
  const delays: unknown[] = [];
  retries.on('retry', ({ delay }) => delays.push(delay));
  const run = async (error: object) => {
    const result = retries.execute(() => Promise.reject(error)).catch(() => {});
    await clock.advance(1e5);
    await result;
  };
  await run({});
  await run({ retryAfter: 7000 });
  await run({ retryAfter: -1 });
  own = () => {
    throw new Error('broken');
  };
  await run({});
  expect(delays).toEqual([5000, 7000, 1000]);
});
