// A breaker for each tenant, until memory is full. In a file of its own: it fills the memory that all share.

import { afterEach, expect, test } from 'vitest';
import { circuitBreaker, limitMemory, memoryUsage } from '../src/index.js';

const MIB = 2 ** 20;
const kept: { dispose(): void }[] = [];

afterEach(() => {
  for (const breaker of kept.splice(0)) breaker.dispose();
});

test.each([
  [32, 150, 6000],
  [32, 250, 4500],
  [32, 1000, 1100],
  [256, 60, 100_000],
])(
  '%d MiB of breakers with %d buckets',
  async (limit, buckets, least) => {
    limitMemory(limit * MIB);
    let error: unknown;
    try {
      for (;;) kept.push(circuitBreaker({ window: { time: '1m', buckets } }));
    } catch (refusal) {
      error = refusal;
    }
    expect(error).toMatchObject({ code: 'out-of-memory' });
    const { used } = memoryUsage();
    expect(kept.length).toBeGreaterThan(least);
    expect(used).toBeGreaterThan(0.7 * limit * MIB);
    expect(used).toBeLessThanOrEqual(limit * MIB);
    // What is disposed makes room: for at least as many of half of them.
    for (const breaker of kept.splice(0, kept.length / 2)) breaker.dispose();
    for (let i = 0; i < least / 4; i++) kept.push(circuitBreaker({ window: { time: '1m', buckets } }));
  },
  120_000,
);
