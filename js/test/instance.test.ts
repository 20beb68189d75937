// The memory of instances: limits, and policies that share none. In a file of its own: it fills them.

import { afterEach, describe, expect, test } from 'vitest';
import {
  bulkhead,
  circuitBreaker,
  limitMemory,
  memoryUsage,
  PolicyError,
  pipeline,
  policy,
  rateLimiter,
  timeout,
} from '../src/index.js';

const MIB = 2 ** 20;
const CALLS = [
  { limit: { rate: '1/1h', per: 'key', keys: 1_000_000 } },
  { breaker: { per: 'key', keys: 1_000_000 } },
] as const;

/** Calls a function until it throws, and returns how often it did not. */
function fill(make: (i: number) => unknown): [count: number, error: unknown] {
  for (let i = 0; i < 1_000_000; i++) {
    try {
      make(i);
    } catch (error) {
      return [i, error];
    }
  }
  throw new Error('it was never full');
}

/** The same for calls. */
async function fillCalls(make: (i: number) => Promise<unknown>): Promise<[count: number, error: unknown]> {
  for (let i = 0; i < 1_000_000; i++) {
    try {
      await make(i);
    } catch (error) {
      return [i, error];
    }
  }
  throw new Error('it was never full');
}

afterEach(() => limitMemory(256 * MIB));

test('limits are checked', () => {
  expect(memoryUsage().limit).toBe(256 * MIB);
  limitMemory(32 * MIB);
  expect(memoryUsage().limit).toBe(32 * MIB);
  for (const wrong of [0, 2 ** 30, 4.5 * MIB + 0.5, '64', Number.NaN]) {
    expect(() => limitMemory(wrong as number)).toThrow(
      /^limit: found .*; allowed 4194304 to 536870912 bytes/,
    );
  }
  for (const instance of ['mine', null, {}, { limit: 1 }, 5]) {
    expect(() => rateLimiter({ rate: '1/1s', instance: instance as 'own' })).toThrow(/^instance: found /);
    expect(() => pipeline([{ timeout: '1s' }], { instance: instance as 'own' })).toThrow(/^instance: found /);
  }
});

describe('an instance that is full', () => {
  test('of keys: known ones are decided, new ones are an error, dispose() makes room', async () => {
    const before = memoryUsage();
    const own = pipeline(CALLS, { instance: { limit: 8 * MIB } });
    const [keys, error] = await fillCalls((i) => own.attempt(() => i, { key: `k${i}` }));
    expect(keys).toBeGreaterThan(1000);
    expect(error).toBeInstanceOf(PolicyError);
    expect(error).toMatchObject({ code: 'out-of-memory', problems: [{ path: 'memory' }] });

    expect(await own.attempt(() => 1, { key: 'k0' })).toMatchObject({ ok: false, step: 'limit' });
    await expect(own.attempt(() => 1, { key: 'more' })).rejects.toMatchObject({ code: 'out-of-memory' });
    const snapshot = own.snapshot();
    expect(Object.keys(snapshot.steps.limit as object)).toHaveLength(keys);
    expect(memoryUsage().used).toBeLessThan(before.used + 4 * MIB);
    expect(await timeout('1h').execute(() => 1)).toBe(1);
    own.dispose();
    const again = pipeline(CALLS, { instance: { limit: 16 * MIB } });
    expect(again.restore(snapshot)).toEqual(['limit', 'breaker']);
    expect((await again.attempt(() => 1, { key: 'k5' })).ok).toBe(false);
  });

  test('of policies: those that exist work, and each that is disposed makes room for one', async () => {
    limitMemory(8 * MIB);
    const all: ReturnType<typeof circuitBreaker>[] = [];
    const [count, error] = fill(() => all.push(circuitBreaker({ window: { time: '1m', buckets: 100 } })));
    expect(count).toBeGreaterThan(500);
    expect(error).toMatchObject({ code: 'out-of-memory' });
    // What is smaller may find room for a while.
    const small: ReturnType<typeof pipeline>[] = [];
    const [, refused] = fill(() => small.push(pipeline([{ breaker: {} }])));
    expect(refused).toBeInstanceOf(PolicyError);
    for (const breaker of all) {
      const pass = breaker.tryAcquire();
      if (pass.ok) pass.failure();
    }
    expect(all.every((breaker) => breaker.tryAcquire().ok)).toBe(true);
    for (let i = 0; i < 100; i++) {
      all.shift()?.dispose();
      all.push(circuitBreaker({ window: { time: '1m', buckets: 100 } }));
    }
    for (const object of [...all, ...small]) object.dispose();
    const [again] = fill(() => all.push(circuitBreaker({ window: { time: '1m', buckets: 100 } })));
    expect(again).toBeGreaterThan(count / 2);
    for (const breaker of all) breaker.dispose();
  });

  test('of waiters: none is lost, and those that wait are served', async () => {
    const places = bulkhead({ concurrent: 1, queue: 10_000, instance: { limit: 4 * MIB } });
    const other = rateLimiter.keyed({ rate: '1/1h', instance: 'own' });
    const first = await places.acquire();
    const waiters = Array.from({ length: 10_000 }, () => places.acquire().catch((error: Error) => error));
    if (first.ok) first.release();
    const results: { ok?: boolean; release?(): void; code?: string }[] = [];
    for (const waiter of waiters) {
      const result = (await waiter) as (typeof results)[number];
      results.push(result);
      result.release?.();
    }
    expect(results.every(({ ok, code }) => ok || code === 'out-of-memory')).toBe(true);
    expect(places.tryAcquire().ok).toBe(true);
    expect(other.tryAcquire('a').ok).toBe(true);
  });
});

test('a policy with an instance of its own works when the shared one is full, and the reverse', async () => {
  limitMemory(4 * MIB);
  const own = policy(
    { steps: [{ limit: { rate: '5/1h', per: 'key' } }, { retry: 2 }, { breaker: {} }] },
    { instance: 'own' },
  );
  const all: ReturnType<typeof rateLimiter>[] = [];
  const [, error] = fill(() => all.push(rateLimiter('1/1h')));
  expect(error).toMatchObject({ code: 'out-of-memory' });
  for (let i = 0; i < 100; i++) expect(await own.execute(() => i, { key: String(i) })).toBe(i);
  own.configure([{ limit: { rate: '6/1h', per: 'key' } }]);
  expect(await own.execute(() => 1, { key: '5' })).toBe(1);
  expect(circuitBreaker({ instance: 'own' }).state).toBe('closed');
  for (const limiter of all) limiter.dispose();
  expect(rateLimiter('1/1h').tryAcquire().ok).toBe(true);
});

test('policies that are made and disposed take no memory', async () => {
  const limiter = rateLimiter('1000000/1s');
  for (let i = 0; i < 20_000; i++) {
    using calls = pipeline([{ limit: '5/1s' }, { breaker: {} }]);
    await calls.execute(() => limiter.tryAcquire());
  }
  expect(memoryUsage().used).toBeLessThan(64 * MIB);
});
