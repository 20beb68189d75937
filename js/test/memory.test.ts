// What runs for long takes no more and more memory. In a file of its own: it measures the memory that all share.
// SLUICE_SOAK=1 makes it a million keys, ten million calls and a million policies.

import { expect, test } from 'vitest';
import {
  bulkhead,
  circuitBreaker,
  limitMemory,
  memoryUsage,
  pipeline,
  rateLimiter,
  retry,
  timeout,
} from '../src/index.js';

const MIB = 2 ** 20;
const soak = !!process.env.SLUICE_SOAK;
const scaled = (full: number, short: number): number => (soak ? full : short);

/** Runs a function so often, in two halves, and expects that the second one takes no memory. */
async function flat(times: number, run: (i: number) => unknown): Promise<void> {
  for (let i = 0; i < times / 2; i++) await run(i);
  const { used } = memoryUsage();
  for (let i = 0; i < times / 2; i++) await run(times / 2 + i);
  // What waits to be collected is as much as what is in use, and never less than a sixteenth of the limit.
  expect(memoryUsage().used).toBeLessThan(2 * used + 32 * MIB);
}

const LONG = 3_600_000;

test('keys: a pipeline and a limiter keep as many as they may', { timeout: LONG }, async () => {
  using calls = pipeline([
    { limit: { rate: '5/1h', per: 'key', keys: 10_000 } },
    { breaker: { per: 'key', keys: 10_000, window: { time: '1m', buckets: 10 } } },
  ]);
  using limiter = rateLimiter.keyed({ rate: '5/1h', keys: 10_000 });
  const keys = scaled(1_000_000, 40_000);
  await flat(keys, (i) => {
    limiter.tryAcquire(`k${i}`);
    return calls.execute(() => i, { key: `k${i}` });
  });
  expect(limiter.counts).toEqual({ keys: 10_000, evictions: keys - 10_000, shared: 0, unblocked: 0 });
});

test('calls: of every mechanism', { timeout: LONG }, async () => {
  using calls = pipeline([
    { timeout: '30s' },
    { retry: { attempts: 3, backoff: 'none', budget: '20%' } },
    { breaker: {} },
    { bulkhead: { concurrent: 5, queue: 5 } },
    { limit: { rate: '1000000/1s', wait: '1s' } },
  ]);
  using breaker = circuitBreaker({ window: { time: '1s', buckets: 10 } });
  using places = bulkhead({ concurrent: 1, queue: 10, wait: '1s' });
  using again = retry(2);
  const run = async (): Promise<void> => {
    await calls.attempt(() => breaker.execute(() => again.execute(() => 1)));
    await Promise.all([places.execute(() => 1), places.execute(() => 2)]);
  };
  await flat(scaled(10_000_000 / 5, 20_000), run);
});

test('policies: made and dropped, disposed or not', { timeout: LONG }, async () => {
  await flat(scaled(1_000_000, 20_000), async (i) => {
    await timeout('1h').execute(() => i);
    await retry(3).execute(() => i);
    using calls = pipeline([{ limit: '5/1s' }, { bulkhead: 5 }]);
    await calls.execute(() => i);
    const dropped = circuitBreaker();
    await dropped.execute(() => i);
    // What is not disposed is freed when the runtime collects it, which needs a turn of its loop.
    if (i % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

test('a keyed limiter whose memory is full keeps the keys that it has room for', () => {
  limitMemory(4 * MIB);
  try {
    using limiter = rateLimiter.keyed({ rate: '1/1h', instance: 'own' });
    using small = rateLimiter.keyed({ rate: '1/1h', instance: { limit: 4 * MIB } });
    const keys = 50_000;
    for (let i = 0; i < keys; i++) {
      expect(limiter.tryAcquire(`k${i}`).ok).toBe(true);
      expect(small.tryAcquire(`k${i}`).ok).toBe(true);
    }
    const { keys: kept, evictions } = small.counts;
    expect(kept).toBeGreaterThan(5000);
    expect(kept).toBeLessThan(keys);
    expect(kept + evictions).toBe(keys);
    expect(limiter.counts).toMatchObject({ keys, evictions: 0 });
    expect(small.tryAcquire(`k${keys - 1}`).ok).toBe(false);
  } finally {
    limitMemory(256 * MIB);
  }
});
