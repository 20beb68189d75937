// Mechanisms alone, and steps by their handles, with other settings while they run.

import { retry as loneRetry } from '@sluice/core/retry';
import { describe, expect, test } from 'vitest';
import {
  bulkhead,
  circuitBreaker,
  hedge,
  PolicyError,
  pipeline,
  policies,
  rateLimiter,
  retry,
  timeout,
} from '../src/index.js';
import { virtualClock } from '../src/testing.js';

const stays = /^configure: found "\w+"; allowed settings of the mechanism: its .* stay$/;

describe('what stays', () => {
  const down = (): Promise<never> => Promise.reject(new Error('down'));

  test('the name and the shadow of a mechanism alone', async () => {
    const clock = virtualClock();
    const slow = timeout({ after: '1s', shadow: true, clock });
    slow.configure('2s');
    const end = slow.execute(() => new Promise((resolve) => clock.setTimeout(() => resolve('late'), 3000)));
    await clock.advance(3000);
    expect(await end).toBe('late');
    const named = timeout({ after: '1s', name: 'mine', clock });
    named.configure({ after: '2s' });
    const cut = named.attempt(() => new Promise(() => {}));
    await clock.advance(2000);
    expect(await cut).toMatchObject({ ok: false, step: 'mine' });
    let runs = 0;
    const once = retry({ attempts: 3, shadow: true, backoff: 'none', clock });
    once.configure({ attempts: 4, backoff: 'none' });
    await once
      .execute(() => {
        runs++;
        return down();
      })
      .catch(() => {});
    expect(runs).toBe(1);
    const beside = hedge({ after: '10ms', shadow: true, clock });
    beside.configure({ after: '20ms' });
    let begun = 0;
    const first = beside.execute(() => {
      begun++;
      return new Promise((resolve) => clock.setTimeout(() => resolve('first'), 100));
    });
    await clock.advance(100);
    expect([await first, begun]).toEqual(['first', 1]);
  });

  test('the fallback of the program, under a step with other settings', async () => {
    const calls = pipeline([{ limit: '1/1h' }], { fallback: () => 'other', clock: virtualClock() });
    const both = async () => [await calls.execute(() => 'v'), await calls.execute(() => 'v')];
    expect(await both()).toEqual(['v', 'other']);
    calls.step('limit').configure('1/2h');
    expect(await calls.execute(() => 'v')).toBe('other');
  });

  test('what policies share: no step beside it is configured alone', async () => {
    const { a, b } = policies({
      version: 1,
      mechanisms: { v: { limit: '1/1h' } },
      policies: { a: { steps: [{ timeout: '5s' }, { use: 'v' }] }, b: { steps: [{ use: 'v' }] } },
    });
    await b?.execute(() => 'v');
    expect(() => a?.step('timeout').configure('6s')).toThrow('mechanisms that policies share');
    expect(await a?.attempt(() => 'v')).toMatchObject({ ok: false, reason: 'rate' });
  });

  test('a step, where the settings are none', () => {
    const calls = pipeline([{ breaker: {} }, { limit: { rate: '1/1h', per: 'key' } }]);
    for (const wrong of [undefined, null, '', true, 5, [], () => 1]) {
      expect(() => calls.step('breaker').configure(wrong as never)).toThrow(PolicyError);
    }
    expect(calls.policy).toEqual({ steps: [{ breaker: {} }, { limit: { rate: '1/1h', per: 'key' } }] });
    expect(() => calls.step('limit').drain()).toThrow('found "no key"; allowed drain of a key');
    expect(calls.step('limit').keys()).toEqual([]);
  });
});

describe('a mechanism alone', () => {
  test('a rate limiter keeps its free permits, and its callers', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '10/1s', clock });
    for (let i = 0; i < 10; i++) limiter.tryAcquire();
    expect(limiter.tryAcquire()).toMatchObject({ ok: false, retryAfter: 100 });
    limiter.configure({ rate: '1/1s', burst: 4, wait: '5s' });
    expect(limiter.tryAcquire()).toMatchObject({ ok: false, retryAfter: 1000 });
    expect(limiter.quota()).toMatchObject({ limit: 4, rate: [1, 1000] });
    const waits = limiter.acquire();
    const also = limiter.acquire();
    limiter.configure('2/1s');
    expect(await limiter.acquire()).toMatchObject({ ok: false, reason: 'rate' });
    await clock.advance(1000);
    expect(await waits).toMatchObject({ ok: true });
    expect(await also).toMatchObject({ ok: true });
    expect(() => limiter.configure('2' as never)).toThrow(PolicyError);
    expect(() => limiter.configure({ rate: '2/1s', name: 'other' })).toThrow(stays);
    expect(() => limiter.configure({ rate: '2/1s', clock })).toThrow(stays);
  });

  test('a rate that is changed again and again admits as many', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '240/1h', burst: 3, clock });
    let passed = 0;
    for (let i = 0; i < 360; i++) {
      limiter.configure({ rate: i % 2 ? '240/1h' : '241/1h', burst: 3 });
      if (limiter.tryAcquire().ok) passed++;
      await clock.advance(10_000);
    }
    expect(passed).toBeGreaterThanOrEqual(240);
  });

  test('a keyed rate limiter', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter.keyed({ rate: '3/1s', keys: 5, clock });
    for (const key of ['a', 'a', 'a', 'a', 'b']) limiter.tryAcquire(key);
    limiter.peek('never used');
    limiter.configure('1/1m');
    expect(limiter.tryAcquire('a')).toMatchObject({ ok: false, retryAfter: 60_000 });
    expect(limiter.tryAcquire('b').ok).toBe(true);
    expect(limiter.tryAcquire('b').ok).toBe(false);
    expect(limiter.peek('never used')).toMatchObject({ ok: true, remaining: 1 });
    expect([limiter.tryAcquire('c').ok, limiter.tryAcquire('c').ok]).toEqual([true, false]);
    expect(() => limiter.configure({ rate: '1/1s', wait: '1s' })).toThrow(/without a wait and a block/);
    const waits = rateLimiter.keyed({ rate: '1/1s', wait: '9s', clock });
    waits.tryAcquire('a');
    const turn = waits.acquire('a');
    waits.configure({ rate: '10/1s', wait: '9s' });
    await clock.advance(100);
    expect(await turn).toMatchObject({ ok: true });
  });

  test('a breaker keeps its state', async () => {
    const clock = virtualClock();
    const breaker = circuitBreaker({
      window: { consecutive: 2 },
      outcome: (error) => (error ? 'fail' : 'ok'),
      clock,
    });
    const fails = () => breaker.attempt(() => Promise.reject(new Error('no'))).catch(() => 'failed');
    await fails();
    breaker.configure({ window: { consecutive: 3 }, open: '5s' });
    // A window that changes starts without outcomes.
    await fails();
    await fails();
    expect(breaker.state).toBe('closed');
    await fails();
    expect(breaker.state).toBe('open');
    expect(await fails()).toMatchObject({ reason: 'open', retryAfter: 5000 });
    breaker.configure({ window: { consecutive: 3 }, open: '7s' });
    expect(breaker.state).toBe('open');
    expect(() => breaker.configure({ outcome: () => 'ok' })).toThrow(stays);
    const keyed = circuitBreaker.keyed({ window: { consecutive: 9 }, name: 'hosts', keys: 10, clock });
    const bad = (key: string) =>
      keyed.attempt(() => Promise.reject(new Error('no')), { key }).catch(() => 'failed');
    await bad('a');
    keyed.configure({ window: { consecutive: 2 } });
    await bad('a');
    await bad('a');
    await bad('b');
    expect([keyed.state('a'), keyed.state('b')]).toEqual(['open', 'closed']);
    expect(() => keyed.configure({ open: 'long' as never })).toThrow(PolicyError);
  });

  test('a bulkhead with more places starts what waits', async () => {
    const clock = virtualClock();
    for (const places of [bulkhead({ concurrent: 1, queue: 9, clock })]) {
      let started = 0;
      const run = () => places.execute(() => new Promise(() => void started++));
      for (let i = 0; i < 5; i++) void run();
      await clock.advance(0);
      expect(started).toBe(1);
      places.configure({ concurrent: 3, queue: 9 });
      await clock.advance(0);
      expect([started, places.counts]).toEqual([3, { running: 3, queued: 2, free: 0 }]);
      places.configure(2);
      expect(places.counts).toMatchObject({ queued: 2 });
      places.configure({ concurrent: 2, lease: '1s' });
      expect(() => places.configure(0)).toThrow(PolicyError);
    }
    const keyed = bulkhead.keyed({ concurrent: 1, queue: 9, clock });
    let started = 0;
    for (let i = 0; i < 3; i++)
      void keyed.execute(() => new Promise(() => void started++), { key: 'a', cost: 1 });
    await clock.advance(0);
    keyed.configure({ concurrent: 2, queue: 9 });
    await clock.advance(0);
    expect([started, keyed.counts('a').running]).toEqual([2, 2]);
  });

  test.each([
    ['of the core', retry],
    ['alone', loneRetry],
  ])('a retry %s', async (_, make) => {
    const clock = virtualClock();
    const retries = make({ attempts: 2, clock, delay: () => 50 });
    const count = async (): Promise<[number, number]> => {
      const began = clock.now();
      let attempts = 0;
      const result = retries.execute(() => {
        attempts++;
        throw new Error('no');
      });
      result.catch(() => {});
      await clock.advance(1000);
      await expect(result).rejects.toThrow('no');
      return [attempts, began];
    };
    expect((await count())[0]).toBe(2);
    retries.configure(4);
    expect((await count())[0]).toBe(4);
    retries.configure({ attempts: 9, max_elapsed: '120ms' });
    expect((await count())[0]).toBe(3);
    expect(() => retries.configure({ attempts: 2, delay: () => 1 })).toThrow(stays);
    expect(() => retries.configure(0)).toThrow(PolicyError);
  });
});

describe('a step by its handle', () => {
  test('drain gives up the free permits', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ limit: { rate: '5/1s', per: 'key' } }, { bulkhead: 9 }], { clock });
    const limit = calls.step('limit');
    limit.drain('a');
    expect(calls.tryAcquire({ key: 'a' })).toMatchObject({
      ok: false,
      step: 'limit',
      reason: 'rate',
      retryAfter: 200,
    });
    expect(calls.tryAcquire({ key: 'b' }).ok).toBe(true);
    await clock.advance(200);
    expect(calls.tryAcquire({ key: 'a' }).ok).toBe(true);
    expect(() => calls.step('bulkhead').drain()).toThrow(/^step bulkhead: found "bulkhead"; allowed limit$/);
  });

  test('block refuses a key for a time', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ bulkhead: 99 }, { limit: { rate: '5/1s', per: 'key' } }], { clock });
    const limit = calls.step('limit');
    limit.block('a', '10s');
    const refused = { ok: false, step: 'limit', reason: 'blocked', retryAfter: 10_000 };
    expect(await calls.attempt(() => 1, { key: 'a' })).toEqual(refused);
    expect(limit.peek('a')).toEqual(refused);
    expect(calls.tryAcquire({ key: 'b' }).ok).toBe(true);
    // No other key has the number of a key without a cell.
    for (let i = 0; i < 50; i++) calls.tryAcquire({ key: `c${i}` });
    expect(limit.peek('a')).toEqual(refused);
    limit.block('a', '1s');
    await clock.advance(1000);
    expect(calls.tryAcquire({ key: 'a' }).ok).toBe(true);
    limit.block('a', '1s');
    expect([limit.unblock('a'), limit.unblock('a'), calls.tryAcquire({ key: 'a' }).ok]).toEqual([
      true,
      false,
      true,
    ]);
    expect(() => limit.block('a', 5 as never)).toThrow(/^block: found 5; allowed a duration/);
    expect(() => calls.step('bulkhead').block('a', '1s')).toThrow(
      /^step bulkhead: .*allowed a step with per/,
    );
  });

  test('unblock ends the block of a limit', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ limit: { rate: '1/1h', per: 'key', block: '1h' } }], { clock });
    calls.tryAcquire({ key: 'a' });
    calls.tryAcquire({ key: 'a' });
    expect(calls.step('limit').peek('a')).toMatchObject({ reason: 'blocked' });
    expect(calls.step('limit').unblock('a')).toBe(true);
    expect(calls.step('limit').peek('a')).toMatchObject({ reason: 'rate' });
  });

  test('configure replaces the settings of the mechanism', async () => {
    const clock = virtualClock();
    const calls = pipeline(
      [{ retry: 2 }, { limit: { rate: '5/1s', burst: 3, per: 'key', missing: 'deny' } }, { limit: '100/1s' }],
      { clock },
    );
    for (let i = 0; i < 2; i++) calls.tryAcquire({ key: 'a' });
    calls.step('limit').configure({ rate: '1/1m', burst: 2 });
    calls.step('limit-2').configure('50/1s');
    expect(calls.policy).toEqual({
      steps: [
        { retry: 2 },
        { limit: { rate: '1/1m', burst: 2, per: 'key', missing: 'deny' } },
        { limit: { rate: '50/1s' } },
      ],
    });
    expect([calls.tryAcquire({ key: 'a' }).ok, calls.tryAcquire({ key: 'a' }).ok]).toEqual([true, false]);
    expect(calls.tryAcquire()).toMatchObject({ reason: 'missing' });
    calls.step('retry').configure({ attempts: 5 });
    expect(() => calls.step('limit').configure({ rate: '1/1m', per: 'ip' })).toThrow(
      /^step limit: found "per"/,
    );
    expect(() => calls.step('limit').configure({ rate: '1/1m', bursts: 2 })).toThrow(PolicyError);
    expect(calls.quotas({ key: 'a' })[1]).toMatchObject({ step: 'limit-2', limit: 50 });
    const both = policies({
      version: 1,
      mechanisms: { vendor: { limit: '5/1s' } },
      policies: { a: { steps: [{ use: 'vendor' }] }, b: { steps: [{ use: 'vendor' }] } },
    });
    expect(() => both.a?.step('vendor').configure('9/1s')).toThrow(/mechanisms that policies share/);
    expect(() => hedge({ after: '1s' })).not.toThrow();
  });
});
