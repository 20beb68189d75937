import { afterEach, expect, test } from 'vitest';
import type { Clock } from '../src/base/types.js';
import { type Guests, NEVER, useGuests, type Wake, Wakes } from '../src/base/wakes.js';
import { pipeline, rateLimiter } from '../src/index.js';
import { requests } from '../src/pipeline/requests.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

afterEach(() => useGuests(undefined as unknown as Guests));

/** A clock that drops its timers, as workerd drops the timers of a request that ended. */
function forgetful() {
  let now = 0;
  const timers: (() => void)[] = [];
  const clock: Clock = {
    now: () => now,
    setTimeout: (callback) => timers.push(callback),
    clearTimeout: () => {},
  };
  return { clock, timers, to: (time: number) => (now = time) };
}

test('a timer that was dropped is set again', async () => {
  const { clock, timers, to } = forgetful();
  const limiter = rateLimiter({ rate: '1/1s', wait: '1m', clock });
  limiter.tryAcquire();
  const first = limiter.acquire();
  expect(timers).toHaveLength(1);
  to(1001);
  const second = limiter.acquire();
  const third = limiter.acquire();
  expect(timers).toHaveLength(2);
  timers[1]?.();
  expect((await first).ok).toBe(true);
  to(3000);
  timers.at(-1)?.();
  expect([(await second).ok, (await third).ok]).toEqual([true, true]);
});

test('where each request waits for itself, each has a timer', async () => {
  useGuests(requests);
  const clock = virtualClock();
  const limiter = rateLimiter({ rate: '1/1s', wait: '1m', clock });
  limiter.tryAcquire();
  const all = Promise.all([limiter.acquire(), limiter.acquire(), limiter.acquire()]);
  await clock.advance(0);
  expect(clock.timers).toBe(3);
  await clock.advance(1000);
  expect(clock.timers).toBe(2);
  await clock.advance(2000);
  expect(clock.timers).toBe(0);
  expect((await all).map(({ ok }) => ok)).toEqual([true, true, true]);
});

test('a waiter whose turn moves forward is woken earlier', async () => {
  useGuests(requests);
  const clock = virtualClock();
  const limiter = rateLimiter({ rate: '1/1s', burst: 10, wait: '1m', clock });
  limiter.tryAcquire({ cost: 10 });
  const controller = new AbortController();
  const gone = limiter.acquire({ cost: 10, signal: controller.signal });
  let at: number | undefined;
  const next = limiter.acquire().then(() => {
    at = clock.now();
  });
  await clock.advance(500);
  controller.abort('enough');
  await expect(gone).rejects.toBe('enough');
  await clock.advance(2000);
  await next;
  expect(at).toBe(1000);
});

test('calls under a policy are cut, retried and refused there, too', async () => {
  useGuests(requests);
  const clock = virtualClock();
  const calls = pipeline(
    [
      { retry: { attempts: 2, backoff: 'none' } },
      { bulkhead: { concurrent: 1, queue: 2, wait: '3s' } },
      { timeout: '1s' },
    ],
    { clock },
  );
  const attempts: unknown[] = [];
  const slow = calls.attempt(({ attempt, signal }) => {
    attempts.push(attempt);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const fast = calls.attempt(() => 'fast');
  await clock.advance(2000);
  expect(await slow).toMatchObject({ ok: false, reason: 'timeout' });
  expect(await fast).toEqual({ ok: true, value: 'fast' });
  expect(attempts).toEqual([1, 2]);
  await clock.advance(0);
  expect(clock.timers).toBe(0);
  await expect(calls.execute(() => 1, { cost: -1 })).rejects.toThrow('cost');
  await clock.advance(0);
  expect(clock.timers).toBe(0);
});

test('advances of a virtual clock add up', async () => {
  const clock = virtualClock();
  const heard: number[] = [];
  clock.setTimeout(() => heard.push(clock.now()), 150);
  await Promise.all([clock.advance(100), clock.advance(100), clock.advance(100)]);
  expect([clock.now(), heard]).toEqual([300, [150]]);
});

test('a wake that each call sets stays in the heap until the next turn, and comes at its time', async () => {
  const clock = virtualClock();
  const turns: (() => void)[] = [];
  const wakes = new Wakes(clock, (turn) => turns.push(turn));
  const woken: number[] = [];
  const wake: Wake = { due: NEVER, place: -1, waits: 1, unset: false, wake: () => woken.push(clock.now()) };
  for (const due of [10, NEVER, 25, NEVER, 25]) wakes.set(wake, due);
  expect([turns.length, clock.timers]).toEqual([1, 1]);
  await clock.advance(20);
  expect([woken, clock.timers]).toEqual([[], 1]);
  await clock.advance(5);
  expect([woken, clock.timers, wake.place]).toEqual([[25], 0, -1]);
  turns.shift()?.();
  for (const due of [40, NEVER]) wakes.set(wake, due);
  expect([turns.length, wake.place]).toEqual([1, 0]);
  turns.shift()?.();
  expect(wake.place).toBe(-1);
  wakes.set(wake, 50);
  wakes.set(wake, 45);
  await clock.advance(100);
  expect(woken).toEqual([25, 45]);
});
