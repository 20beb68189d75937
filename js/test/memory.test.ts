// In a file of its own: it fills the memory of the module.

import { expect, test } from 'vitest';
import {
  type CircuitBreaker,
  circuitBreaker,
  PolicyError,
  pipeline,
  rateLimiter,
  timeout,
} from '../src/index.js';

test('a full memory is an error of what is made, and everything else works', async () => {
  const calls = pipeline([{ limit: { rate: '1/1h', per: 'key' } }, { timeout: '1h' }]);
  const keyed = rateLimiter.keyed('2/1h');
  await calls.execute(() => 1, { key: 'a' });
  keyed.tryAcquire('a');
  const all: CircuitBreaker[] = [];
  let full: unknown;
  for (let i = 0; i < 200_000 && !full; i++) {
    try {
      const breaker = circuitBreaker({ window: { time: '1m', buckets: 1_000 } });
      const pass = breaker.tryAcquire();
      if (pass.ok) pass.success();
      all.push(breaker);
    } catch (error) {
      full = error;
    }
  }
  expect(full).toBeInstanceOf(PolicyError);
  expect(full).toMatchObject({ code: 'bad-size' });
  expect((full as Error).message).toMatch(/^memory: found \d+ MiB in use; allowed less/);
  await expect(calls.execute(() => 1, { key: 'b' })).rejects.toMatchObject({ code: 'bad-size' });

  expect(all.every((breaker) => breaker.tryAcquire().ok)).toBe(true);
  expect((await calls.attempt(() => 1, { key: 'a' })).ok).toBe(false);
  expect(keyed.tryAcquire('a').ok).toBe(true);
  // A new key takes the place of the one that was used least recently.
  expect(keyed.tryAcquire('b').ok).toBe(true);
  expect(keyed.counts).toMatchObject({ keys: 1, evictions: 1 });

  for (const breaker of all.splice(0, 100)) breaker.dispose();
  expect(await calls.execute(() => 1, { key: 'b' })).toBe(1);
  expect(circuitBreaker().tryAcquire().ok).toBe(true);
  expect(await timeout('1h').execute(() => 1)).toBe(1);
});
