// The package under the fake timers of a test framework: its time and its timers are theirs.

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  bulkhead,
  circuitBreaker,
  pipeline,
  rateLimiter,
  retry,
  systemClock,
  TimeoutError,
  timeout,
} from '../src/index.js';

const never = (): Promise<never> => new Promise(() => {});
/** The message of the error of a promise. */
const failed = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: Error) => error.message,
  );

describe('fake timers', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['50ms', 100],
    ['500ms', 600],
    ['1s', 1_100],
    ['5s', 6_000],
    ['1s', 1_100],
  ] as const)(
    'a call that one test leaves behind holds no timer of the next: %s',
    async (after, milliseconds) => {
      void timeout(after)
        .execute(never)
        .catch(() => {});
      const cut = failed(timeout(after).execute(never));
      await vi.advanceTimersByTimeAsync(milliseconds);
      expect(await cut).toBe('timeout: timed out');
      // What stays.
      void timeout('700ms')
        .execute(never)
        .catch(() => {});
      void bulkhead({ concurrent: 1, queue: 5, wait: '300ms' }).execute(never);
    },
  );

  test('backoffs, limits, breakers and deadlines', async () => {
    const attempts: number[] = [];
    const calls = pipeline([
      { retry: { attempts: 3, backoff: { constant: '10s' }, jitter: 'none' } },
      { timeout: '1s' },
    ]);
    const begun = performance.now();
    const end = calls.execute(() => {
      attempts.push(performance.now() - begun);
      return never();
    });
    end.catch(() => {});
    await vi.advanceTimersByTimeAsync(60_000);
    await expect(end).rejects.toBeInstanceOf(TimeoutError);
    expect(attempts).toEqual([0, 11_000, 22_000]);
    const limiter = rateLimiter({ rate: '1/1m' });
    expect([limiter.tryAcquire().ok, limiter.tryAcquire().ok]).toEqual([true, false]);
    vi.advanceTimersByTime(60_000);
    expect(limiter.tryAcquire().ok).toBe(true);
    const breaker = circuitBreaker({ window: { consecutive: 1 }, open: '30s' });
    await failed(breaker.execute(() => Promise.reject(new Error('down'))));
    expect(breaker.state).toBe('open');
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await breaker.execute(() => 1)).toBe(1);
  });
});

test('real timers after fake ones', async () => {
  vi.useFakeTimers();
  void timeout('1h')
    .execute(never)
    .catch(() => {});
  await vi.advanceTimersByTimeAsync(performance.now());
  for (const after of ['100ms', '2s', '3s', '10s'] as const)
    void timeout(after)
      .execute(never)
      .catch(() => {});
  vi.useRealTimers();
  expect(await failed(timeout('5ms').execute(never))).toBe('timeout: timed out');
  let count = 0;
  const task = (): number => {
    if (++count < 3) throw new Error('down');
    return count;
  };
  expect(await retry({ backoff: { constant: '2ms' } }).execute(task)).toBe(3);
});

test('time goes on when fake timers come and go, and their whole milliseconds stay whole', async () => {
  const clock = systemClock();
  const limiter = rateLimiter({ rate: '1/1m', clock });
  expect(limiter.tryAcquire().ok).toBe(true);
  for (let i = 0; i < 20; i++) {
    const before = clock.now();
    vi.useFakeTimers();
    const now = clock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now % 1).toBe(0);
    const fresh = rateLimiter({ rate: '1/1m', clock });
    expect(fresh.tryAcquire().ok).toBe(true);
    vi.advanceTimersByTime(59_999);
    expect(fresh.quota().next).toBe(1);
    vi.advanceTimersByTime(1);
    expect([fresh.tryAcquire().ok, fresh.quota().next, clock.now() - now]).toEqual([true, 60_000, 60_000]);
    expect(limiter.tryAcquire().ok).toBe(true);
    vi.useRealTimers();
  }
});

test('a copy of the clock goes on where it was, too', () => {
  const clock = { ...systemClock(), wall: () => 0 };
  vi.useFakeTimers();
  const begun = clock.now();
  vi.advanceTimersByTime(60_000);
  const before = clock.now();
  expect(before - begun).toBe(60_000);
  vi.useRealTimers();
  expect(clock.now()).toBeGreaterThanOrEqual(before);
});

test('a real timer does not outlive the switch to fake ones', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const clock = systemClock();
  const wait = () => {
    const places = bulkhead({ concurrent: 1, queue: 1, wait: '4s', clock });
    void places.execute(never);
    void places.acquire();
  };
  const before = timers();
  wait();
  expect(timers()).toBe(before + 1);
  vi.useFakeTimers();
  wait();
  expect(timers()).toBe(before);
  vi.useRealTimers();
});

test('what follows soon follows where fake timers were there first', async () => {
  vi.useFakeTimers();
  vi.resetModules();
  const [{ defaultClock }, { NEVER, wakesOf }] = await Promise.all([
    import('../src/base/clock.js'),
    import('../src/base/wakes.js'),
  ]);
  const wakes = wakesOf(defaultClock);
  const cancelled = () => {
    const wake = { due: NEVER, place: -1, waits: 1, unset: false, wake() {} };
    wakes.set(wake, defaultClock.now() + 1000);
    wakes.set(wake, NEVER);
    return wake;
  };
  const under = cancelled();
  vi.useRealTimers();
  const after = [cancelled()];
  await new Promise(setImmediate);
  after.push(cancelled());
  await new Promise(setImmediate);
  expect([under, ...after].map(({ place }) => place)).toEqual([-1, -1, -1]);
});

test('the example of the README', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, code = ''] = /fake timers[^`]*```js\n(.*?)```/s.exec(readme) ?? [];
  expect(code).toContain('vi.useFakeTimers()');
  const run = new Function(
    'pipeline',
    'beforeEach',
    'afterEach',
    'test',
    'expect',
    'vi',
    code.replace(/^import .*/gm, ''),
  );
  const parts: (() => unknown)[] = [];
  run(
    pipeline,
    (f: () => unknown) => parts.push(f),
    (f: () => unknown) => parts.push(f),
    (_: string, f: () => unknown) => parts.splice(1, 0, f),
    expect,
    vi,
  );
  // Before, the test, after.
  expect(parts).toHaveLength(3);
  for (const part of parts) await part();
  expect(vi.isFakeTimers()).toBe(false);
});
