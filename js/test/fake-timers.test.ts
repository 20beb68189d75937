// The example of the README with fake timers.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pipeline, retry } from '../src/index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('a retry waits for the fake time', async () => {
  const retries = retry({ attempts: 2, backoff: { constant: '1m' }, jitter: 'none' });
  const result = retries.attempt(({ attempt }) =>
    attempt > 1 ? 'second' : Promise.reject(new Error('first')),
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await result).toEqual({ ok: true, value: 'second' });
});

test('a limit counts in the fake time', async () => {
  const calls = pipeline([{ limit: '1/1h' }]);
  expect([calls.tryAcquire().ok, calls.tryAcquire().ok]).toEqual([true, false]);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(calls.tryAcquire().ok).toBe(true);
});
