// What a program sees of a pipeline and changes by hand: steps, limits, events, stop and drain.

import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  bulkhead,
  circuitBreaker,
  type Decision,
  hedge,
  PolicyError,
  pipeline,
  RejectedError,
  rateLimiter,
  retry,
  timeout,
  wrap,
} from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const fails = (): never => {
  throw new Error('down');
};
const never = (): Promise<never> => new Promise(() => {});

describe('what a limit has left', () => {
  test('a limiter says it with each admission, and by itself', () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '4/1s', clock });
    const verdict = limiter.tryAcquire();
    expect(verdict).toEqual({ ok: true });
    expect(inspect(verdict)).toBe('LimiterAdmission { ok: true }');
    expect(verdict.ok && [verdict.remaining, verdict.reset]).toEqual([3, 250]);
    limiter.tryAcquire({ cost: 3 });
    expect(limiter.quota()).toEqual({
      step: 'limit',
      limit: 4,
      remaining: 0,
      next: 250,
      reset: 1000,
      rate: [4, 1000],
    });
    limiter.reset();
    expect(limiter.quota()).toMatchObject({ limit: 4, remaining: 4, next: 0, reset: 0 });
  });

  test.each([
    ['token-bucket', { burst: 2 }, 2],
    ['fixed-window', {}, 4],
    ['sliding-counter', {}, 4],
    ['sliding-log', {}, 4],
    ['leaky-bucket', { wait: '1h' }, 4],
  ] as const)('of %s', async (algorithm, more, limit) => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '4/m', algorithm, ...more, clock });
    expect(limiter.quota()).toMatchObject({ limit, remaining: limit, reset: 0 });
    for (let i = 0; i < limit; i++) limiter.tryAcquire();
    const { remaining, next, reset } = limiter.quota();
    expect(remaining).toBe(0);
    await clock.advance(Math.floor(next));
    if (next % 1) await clock.advance(1);
    expect(limiter.tryAcquire().ok).toBe(true);
    expect(reset).toBeGreaterThanOrEqual(next);
  });

  test('of the keys of a limiter, which are listed, asked, reset and evicted', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter.keyed({ rate: '2/1s', wait: '9s', clock });
    for (let i = 0; i < 2; i++) limiter.tryAcquire('a');
    const verdict = limiter.tryAcquire('b');
    expect(verdict.ok && verdict.remaining).toBe(1);
    expect([...limiter.keys()]).toEqual(['a', 'b']);
    expect(limiter.quota('a')).toMatchObject({ remaining: 0, next: 500, reset: 1000 });
    expect(limiter.quota('c')).toMatchObject({ remaining: 2, next: 0 });
    expect([limiter.has('a'), limiter.has('c'), limiter.size]).toEqual([true, false, 2]);
    expect([limiter.reset('a'), limiter.reset('c')]).toEqual([true, false]);
    expect(limiter.quota('a').remaining).toBe(2);
    for (let i = 0; i < 2; i++) limiter.tryAcquire('a');
    const waits = limiter.acquire('a');
    expect(limiter.evict('a')).toBe(false);
    await clock.advance(500);
    expect(await waits).toEqual({ ok: true });
    expect([limiter.evict('a'), limiter.evict('a'), limiter.has('a')]).toEqual([true, false, false]);
    expect(limiter.tryAcquire('a').ok).toBe(true);
    expect(() => limiter.evict(5 as never)).toThrow(PolicyError);
  });

  test('an evicted key gives its memory back, and another key may come', () => {
    const limiter = rateLimiter.keyed({ rate: '2/1s', keys: 2 });
    for (let i = 0; i < 10; i++) {
      expect(limiter.tryAcquire(`key ${i}`).ok).toBe(true);
      expect(limiter.evict(`key ${i}`)).toBe(true);
    }
    expect(limiter.counts).toEqual({ keys: 0, evictions: 0, shared: 0, unblocked: 0 });
  });

  test('a pipeline says it of all its limits, for a call', async () => {
    const clock = virtualClock();
    const calls = pipeline(
      [
        { limit: { name: 'all', rate: '10/1s' } },
        { limit: { name: 'watched', rate: '1/1s', shadow: true } },
        { limit: { name: 'each', rate: '2/1m', per: 'key' } },
      ],
      { clock },
    );
    const seen = await calls.execute(() => calls.quotas({ key: 'a' }), { key: 'a' });
    expect(seen).toMatchObject([
      { step: 'all', limit: 10, remaining: 9, next: 0, reset: 100, rate: [10, 1000] },
      { step: 'each', limit: 2, remaining: 1, next: 0, reset: 30_000 },
    ]);
    expect(calls.quotas({ key: 'b' })[1]).toMatchObject({ remaining: 2, reset: 0 });
    expect(calls.quotas()[1]).toMatchObject({ remaining: 2 });
    const pass = calls.tryAcquire({ key: 'a' });
    expect(pass.ok && pass.quotas[1]).toMatchObject({ remaining: 0, next: 30_000 });
    expect(() => calls.quotas({ kye: 'a' } as never)).toThrow('kye');
  });
});

describe('a pipeline by hand', () => {
  const steps = [
    { breaker: { window: { consecutive: 2 }, open: '10s' } },
    { bulkhead: { concurrent: 1, queue: 5 } },
    { timeout: '5s' },
  ] as const;

  test('tryAcquire admits, refuses and never waits', async () => {
    const clock = virtualClock();
    const calls = pipeline([...steps], { clock });
    const kinds: string[] = [];
    calls.on(({ kind, reason, outcome, duration }) =>
      kinds.push([kind, reason, outcome, duration].filter(Boolean).join(' ')),
    );
    const first = calls.tryAcquire();
    expect(first.ok).toBe(true);
    expect([inspect(first), inspect(calls.step('breaker'))]).toEqual([
      'PipelinePass { ok: true }',
      "PipelineStep { name: 'breaker' }",
    ]);
    expect(calls.tryAcquire()).toEqual({
      ok: false,
      step: 'bulkhead',
      reason: 'full',
      retryAfter: undefined,
    });
    expect(calls.running).toBe(1);
    await clock.advance(20);
    if (first.ok) first.success();
    if (first.ok) first.failure();
    expect(calls.running).toBe(0);
    for (let i = 0; i < 2; i++) {
      const pass = calls.tryAcquire();
      if (pass.ok) pass.failure();
    }
    expect(calls.tryAcquire()).toEqual({ ok: false, step: 'breaker', reason: 'open', retryAfter: 10_000 });
    expect(kinds).toEqual([
      'admit',
      'reject full',
      'end ok 20',
      'admit',
      'end fail',
      'admit',
      'change open',
      'end fail',
      'reject open',
    ]);
  });

  test('a failure is not tried again, and its error is heard', () => {
    const clock = virtualClock();
    const calls = pipeline([{ retry: 3 }, { limit: '9/1s' }], { clock });
    const heard: unknown[] = [];
    calls.on('end', ({ outcome, error }) => heard.push(outcome, error));
    const pass = calls.tryAcquire();
    const error = new Error('mine');
    if (pass.ok) pass.failure(error);
    const other = calls.tryAcquire();
    if (other.ok) other.throttle();
    const third = calls.tryAcquire();
    if (third.ok) third.ignore();
    expect(heard).toEqual(['fail', error, 'throttle', undefined, 'ignore', undefined]);
    expect(clock.timers).toBe(0);
  });

  test('acquire waits for its turn; a timeout aborts the signal of the pass', async () => {
    const clock = virtualClock();
    const calls = pipeline([...steps], { clock });
    const first = await calls.acquire();
    const second = calls.acquire();
    expect(calls.step('bulkhead').counts()).toEqual({ running: 1, queued: 1, free: 0 });
    if (first.ok) first.success();
    const pass = await second;
    expect(pass.ok).toBe(true);
    expect(pass.ok && pass.signal.aborted).toBe(false);
    await clock.advance(5000);
    expect(pass.ok && pass.signal.aborted).toBe(true);
    expect(calls.running).toBe(0);
    if (pass.ok) pass.success();
    const held = calls.tryAcquire();
    const controller = new AbortController();
    const waits = calls.acquire({ signal: controller.signal });
    controller.abort('enough');
    await expect(waits).rejects.toBe('enough');
    if (held.ok) held.success();
    expect(() => calls.tryAcquire({ signal: AbortSignal.abort('gone') })).toThrow('gone');
    expect(() => calls.tryAcquire(5 as never)).toThrow('options: found 5');
    await expect(calls.acquire({ signal: AbortSignal.abort('gone') })).rejects.toBe('gone');
  });

  test.runIf(Symbol.dispose)('a pass ends with its block', () => {
    const calls = pipeline([{ bulkhead: 1 }]);
    {
      using pass = calls.tryAcquire() as Disposable & { ok: boolean };
      expect([pass.ok, calls.running]).toEqual([true, 1]);
    }
    expect(calls.running).toBe(0);
  });

  test('a hedge starts nothing beside a pass', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ hedge: { after: '10ms' } }, { bulkhead: 9 }], { clock });
    const kinds: string[] = [];
    calls.on(({ kind }) => kinds.push(kind));
    const pass = calls.tryAcquire();
    await clock.advance(100);
    if (pass.ok) pass.failure();
    expect(kinds).toEqual(['admit', 'end']);
  });
});

describe('the steps of a pipeline', () => {
  test('a breaker has a state, changes it when its time comes, and is changed by hand', async () => {
    const clock = virtualClock();
    const calls = pipeline(
      [{ timeout: '1m' }, { breaker: { window: { consecutive: 1 }, open: '10s', probes: 1 } }],
      {
        clock,
      },
    );
    const breaker = calls.step('breaker');
    const changes: unknown[] = [];
    await calls.execute(fails).catch(() => {});
    expect(breaker.state()).toBe('open');
    expect(breaker.peek()).toEqual({ ok: false, step: 'breaker', reason: 'open', retryAfter: 10_000 });
    expect(breaker.reset()).toBe(true);
    const off = calls.on('change', ({ at, step, state, reason }) => changes.push([at, step, state, reason]));
    await calls.execute(fails).catch(() => {});
    await clock.advance(12_000);
    expect(breaker.state()).toBe('half-open');
    await calls.execute(() => 1);
    breaker.transition('forced-open');
    await expect(calls.execute(() => 1)).rejects.toThrow(RejectedError);
    off();
    expect(breaker.transition('closed')).toBe(true);
    expect(breaker.state()).toBe('closed');
    expect(changes).toEqual([
      [0, 'breaker', 'open', 'open'],
      [10_000, 'breaker', 'half-open', undefined],
      [12_000, 'breaker', 'closed', undefined],
      [12_000, 'breaker', 'forced-open', undefined],
    ]);
    expect(() => breaker.transition('ajar' as never)).toThrow('ajar');
    expect(() => calls.step('breaker').counts()).toThrow('bulkhead');
    expect(() => calls.step('door')).toThrow('timeout, breaker');
  });

  test('a listener that comes before a policy with a breaker hears its changes', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ timeout: '1m' }], { clock });
    const states: unknown[] = [];
    calls.on('change', ({ state }) => states.push(state));
    calls.configure({ steps: [{ breaker: { window: { consecutive: 1 } } }] });
    await calls.execute(fails).catch(() => {});
    expect(states).toEqual(['open']);
  });

  test('an open breaker without calls keeps no process alive, and a disposed pipeline is left alone', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ breaker: { window: { consecutive: 1 }, open: '10s' } }], { clock });
    const states: unknown[] = [];
    calls.on('change', ({ state }) => states.push(state));
    await calls.execute(fails).catch(() => {});
    calls.dispose();
    await clock.advance(20_000);
    expect(states).toEqual(['open']);
  });

  test('keys are listed, asked, reset and evicted', async () => {
    const clock = virtualClock();
    const calls = pipeline(
      [
        { limit: { rate: '1/1s', per: 'key' } },
        { bulkhead: { concurrent: 1, queue: 2, per: ['key', 'header:x'] } },
      ],
      { clock },
    );
    const attributes = { 'header:x': 'yz' };
    await calls.execute(() => 1, { key: 'a', attributes });
    await calls.execute(() => 1, { key: 'b', attributes });
    const [limit, places] = [calls.step('limit'), calls.step('bulkhead')];
    expect([limit.mechanism, limit.keys(), places.keys()]).toEqual([
      'limit',
      ['a', 'b'],
      ['1:a2:yz', '1:b2:yz'],
    ]);
    expect(limit.peek('a')).toEqual({ ok: false, step: 'limit', reason: 'rate', retryAfter: 1000 });
    expect([limit.peek('c'), limit.reset('a'), limit.peek('a')]).toEqual([{ ok: true }, true, { ok: true }]);
    expect(limit.reset('c')).toBe(false);
    const runs = calls.execute(never, { key: 'a', attributes }).catch(() => {});
    await clock.advance(1000);
    void calls.execute(() => 1, { key: 'a', attributes });
    expect(places.counts('1:a2:yz')).toEqual({ running: 1, queued: 1, free: 0 });
    expect(places.counts('1:b2:yz')).toEqual({ running: 0, queued: 0, free: 1 });
    expect([places.evict('1:a2:yz'), places.evict('1:b2:yz'), limit.evict('a'), limit.evict('a')]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect([limit.keys(), places.keys()]).toEqual([['b'], ['1:a2:yz']]);
    void runs;
  });
});

describe('keyed mechanisms', () => {
  test('breakers', async () => {
    const clock = virtualClock();
    const hosts = circuitBreaker.keyed({ window: { consecutive: 1 }, open: '10s', name: 'hosts', clock });
    const changes: unknown[] = [];
    hosts.on('change', ({ step, key, state }) => changes.push([step, key, state]));
    await hosts.execute(fails, { key: 'a' }).catch(() => {});
    expect(await hosts.attempt(() => 1, { key: 'a' })).toEqual({
      ok: false,
      step: 'hosts',
      reason: 'open',
      retryAfter: 10_000,
    });
    expect(await hosts.execute(() => 1, { key: 'b' })).toBe(1);
    expect([hosts.state('a'), hosts.state('b'), hosts.state('c')]).toEqual(['open', 'closed', 'closed']);
    expect(hosts.keys()).toEqual(['a', 'b']);
    const copy = circuitBreaker.keyed({ window: { consecutive: 1 }, open: '10s', name: 'hosts', clock });
    expect([copy.restore(hosts.snapshot()), copy.state('a')]).toEqual([true, 'open']);
    await clock.advance(10_001);
    const pass = hosts.tryAcquire('a');
    if (pass.ok) pass.success();
    expect([hosts.reset('a'), hosts.state('a'), hosts.transition('b', 'forced-open')]).toEqual([
      true,
      'closed',
      true,
    ]);
    expect(hosts.tryAcquire('b')).toMatchObject({ ok: false, reason: 'open' });
    expect([hosts.evict('b'), hosts.peek('b')]).toEqual([true, { ok: true }]);
    expect(changes).toEqual([
      ['hosts', 'a', 'open'],
      ['hosts', 'a', 'half-open'],
      ['hosts', 'a', 'closed'],
      ['hosts', 'b', 'forced-open'],
    ]);
    expect(() => hosts.execute(() => 1, {} as never)).toThrow('key');
    hosts.dispose();
  });

  test('breakers are bounded: a new key evicts the least recently used one', async () => {
    const hosts = circuitBreaker.keyed({ keys: 2 });
    for (const key of ['a', 'b', 'c']) await hosts.execute(() => 1, { key });
    expect(hosts.keys()).toEqual(['b', 'c']);
    expect(() => circuitBreaker.keyed({ keys: 0 })).toThrow(/^breaker\.keys: /);
    expect(() => circuitBreaker.keyed({ per: 'host' } as never)).toThrow(/^breaker\.per: /);
    expect(() => bulkhead.keyed({} as never)).toThrow(/^bulkhead\.concurrent: /);
  });

  test('bulkheads', async () => {
    const tenants = bulkhead.keyed({ concurrent: 1, queue: 1 });
    const first = tenants.tryAcquire('a');
    const waits = tenants.acquire('a');
    expect(tenants.counts('a')).toEqual({ running: 1, queued: 1, free: 0 });
    expect(tenants.tryAcquire('a')).toMatchObject({ ok: false, reason: 'full' });
    expect(await tenants.execute(() => 'runs', { key: 'b' })).toBe('runs');
    if (first.ok) first.success();
    const second = await waits;
    expect(second.ok).toBe(true);
    if (second.ok) second.success();
    expect(tenants.counts('a')).toEqual({ running: 0, queued: 0, free: 1 });
    expect(bulkhead.keyed(3).counts('x').free).toBe(3);
  });

  test('a call of a bulkhead has a cost, that of a breaker has none', async () => {
    const tenants = bulkhead.keyed({ concurrent: 4, queue: 2 });
    const three = tenants.tryAcquire('a', { cost: 3 });
    expect(tenants.counts('a')).toEqual({ running: 3, queued: 0, free: 1 });
    expect([tenants.peek('a'), tenants.peek('a', { cost: 2 }), tenants.peek('b', { cost: 4 })]).toMatchObject(
      [{ ok: true }, { ok: false, reason: 'full' }, { ok: true }],
    );
    expect(tenants.tryAcquire('a', { cost: 2 })).toMatchObject({ ok: false, reason: 'full' });
    const waits = tenants.attempt(() => tenants.counts('a').free, { key: 'a', cost: 2 });
    const free = tenants.execute(() => tenants.counts('a').free, { key: 'a', cost: 0 });
    expect(tenants.counts('a')).toEqual({ running: 3, queued: 2, free: 1 });
    if (three.ok) three.success();
    expect([await waits, await free]).toEqual([{ ok: true, value: 1 }, 1]);
    expect(await tenants.execute(() => tenants.counts('b').free, { key: 'b', cost: 4 })).toBe(0);
    expect(tenants.counts('b').free).toBe(4);
    for (const refused of [tenants.peek('a', { cost: 5 }), await tenants.acquire('a', { cost: 5 })]) {
      expect(refused).toMatchObject({ ok: false, reason: 'capacity' });
    }
    const hosts = circuitBreaker.keyed();
    const wrong = { key: 'a', cost: -1 } as never;
    for (const call of [
      () => tenants.execute(() => 1, wrong),
      () => tenants.tryAcquire('a', wrong),
      () => tenants.peek('a', wrong),
      () => bulkhead.keyed({ concurrent: 1, cost: 2 } as never),
      () => hosts.execute(() => 1, wrong),
      () => hosts.tryAcquire('a', wrong),
    ]) {
      expect(call).toThrow(/cost/);
    }
    await expect(tenants.acquire('a', wrong)).rejects.toThrow('cost');
    expect(() => tenants.tryAcquire(7 as never)).toThrow('key');
  });

  test('what may not wait is asked at each step for what it costs there', () => {
    const attribute = 'header:size';
    const calls = pipeline(
      [
        { limit: { rate: '5/1h', wait: '1h', cost: 2 } },
        { bulkhead: { concurrent: 3, queue: 1, cost: { attribute, default: 2 } } },
      ],
      { clock: virtualClock() },
    );
    expect(calls.tryAcquire({ cost: 100, attributes: { [attribute]: '1' } }).ok).toBe(true);
    expect(calls.tryAcquire({ cost: 100, attributes: { [attribute]: '4' } })).toMatchObject({
      reason: 'capacity',
    });
    expect(calls.tryAcquire({ cost: 100, attributes: { [attribute]: 'many' } }).ok).toBe(true);
    expect(calls.tryAcquire()).toMatchObject({ ok: false, step: 'limit', reason: 'rate' });
    expect(calls.step('limit').peek().ok).toBe(true);
  });

  test('a bulkhead counts its callers', async () => {
    const places = bulkhead({ concurrent: 2, queue: 5 });
    const permits = [await places.acquire(), await places.acquire()];
    const waits = places.acquire();
    expect(places.counts).toEqual({ running: 2, queued: 1, free: 0 });
    for (const permit of permits) if (permit.ok) permit.release();
    await waits;
    expect(places.counts).toEqual({ running: 1, queued: 0, free: 1 });
  });
});

describe('events', () => {
  const told = (calls: { on(f: (decision: Decision) => unknown): () => void }): unknown[] => {
    const all: unknown[] = [];
    calls.on(({ kind, outcome, duration, delay, error }) => {
      if (kind === 'retry' || kind === 'end') all.push({ kind, outcome, duration, delay, error });
    });
    return all;
  };
  const [one, two] = [new Error('one'), new Error('two')];

  test('a retry has its error and delay, an end its outcome and duration', async () => {
    const clock = virtualClock();
    const retries = retry({ attempts: 2, backoff: { constant: '1s' }, jitter: 'none', clock });
    const all = told(retries);
    const result = retries.execute(async ({ attempt }) => {
      await new Promise((resolve) => clock.setTimeout(() => resolve(0), 10));
      throw attempt === 1 ? one : two;
    });
    result.catch(() => {});
    await clock.advance(2000);
    await expect(result).rejects.toBe(two);
    expect(await retries.attempt(() => 5)).toEqual({ ok: true, value: 5 });
    expect(all).toEqual([
      { kind: 'retry', outcome: undefined, duration: undefined, delay: 1000, error: one },
      { kind: 'end', outcome: 'fail', duration: 1020, delay: undefined, error: two },
      { kind: 'end', outcome: 'ok', duration: 0, delay: undefined, error: undefined },
    ]);
  });

  test('a breaker alone says how its calls ended', async () => {
    const clock = virtualClock();
    const breaker = circuitBreaker({ clock });
    const all = told(breaker);
    await breaker.execute(fails).catch(() => {});
    await breaker.execute(() => 1);
    const pass = breaker.tryAcquire();
    if (pass.ok) pass.failure(one);
    expect(all).toMatchObject([
      { outcome: 'fail', duration: 0, error: { message: 'down' } },
      { outcome: 'ok', duration: 0, error: undefined },
      { outcome: 'fail', error: one },
    ]);
  });

  test('a cut call has the error of its timeout', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ timeout: '1s' }], { clock });
    const all = told(calls);
    const result = calls.execute(never);
    result.catch(() => {});
    await clock.advance(1000);
    expect(all).toMatchObject([{ outcome: 'timeout', duration: 1000, error: { name: 'TimeoutError' } }]);
  });

  test('a hedge alone says which of its attempts won', async () => {
    const clock = virtualClock();
    const search = hedge({ after: '10ms', clock });
    const ends: unknown[] = [];
    const failed: unknown[] = [];
    search.on('end', ({ won, duration, error }) => ends.push([won, duration, error]));
    search.on('failed', ({ attempt, error }) => failed.push([attempt, error]));
    const tried: unknown[] = [];
    const run = (task: (attempt: number) => unknown): Promise<unknown> =>
      search.execute(({ attempt, hedge }) => {
        tried.push([attempt, hedge]);
        return task(attempt);
      });
    const result = run((attempt) => (attempt === 2 ? 'second' : never()));
    await clock.advance(10);
    expect(await result).toBe('second');
    const other = run(async (attempt) => {
      if (attempt === 2) throw one;
      await new Promise((resolve) => clock.setTimeout(() => resolve(0), 50));
      return 'first';
    });
    await clock.advance(50);
    expect(await other).toBe('first');
    expect(tried).toEqual([
      [1, false],
      [2, true],
      [1, false],
      [2, true],
    ]);
    expect([ends, failed]).toEqual([
      [
        [2, 10, undefined],
        [1, 50, undefined],
      ],
      [[2, one]],
    ]);
    expect(() => hedge({ after: 'soon' as never })).toThrow(/^hedge\.after: /);
  });
});

describe('stop and drain', () => {
  test.each([
    ['a pipeline', () => pipeline([{ bulkhead: { concurrent: 1, queue: 5 } }])],
    ['a retry without state', () => pipeline([{ retry: 2 }])],
  ])('%s', async (_, make) => {
    const calls = make();
    let finish = (): void => {};
    const runs = calls.execute(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const order: string[] = [];
    const refusals: unknown[] = [];
    calls.on('reject', ({ step, reason }) => refusals.push(`${step} ${reason}`));
    const drained = calls.drain().then(() => order.push('drained'));
    const waits = calls.execute(() => order.push('waited'));
    const stopped = calls.stop().then(() => order.push('stopped'));
    expect(await calls.attempt(() => 1)).toEqual({
      ok: false,
      step: 'pipeline',
      reason: 'stopped',
      retryAfter: undefined,
    });
    await expect(calls.execute(() => 1)).rejects.toThrow('pipeline: rejected: stopped');
    expect(calls.tryAcquire()).toMatchObject({ reason: 'stopped' });
    expect(await calls.acquire()).toMatchObject({ reason: 'stopped' });
    expect(refusals).toEqual(Array(4).fill('pipeline stopped'));
    finish();
    await Promise.all([runs, waits, drained, stopped]);
    expect(order).toEqual(['waited', 'drained', 'stopped']);
    expect(calls.running).toBe(0);
    await calls.drain();
  });

  test('a retry alone runs its first attempt without the module, and is waited for', async () => {
    const retries = retry(2) as ReturnType<typeof pipeline>;
    let finish = (): void => {};
    const runs = retries.execute(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    let drained = false;
    const drains = retries.drain().then(() => {
      drained = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([drained, retries.running]).toEqual([false, 1]);
    finish();
    await Promise.all([runs, drains]);
  });
});

describe('one mechanism in several pipelines', () => {
  test('its state is that of all', async () => {
    const clock = virtualClock();
    const vendor = circuitBreaker({ window: { consecutive: 2 }, clock });
    const read = wrap(
      retry({ attempts: 3, backoff: 'none', clock }),
      vendor,
      timeout({ after: '1s', clock }),
    );
    const write = wrap(vendor, pipeline([{ timeout: '10s' }], { clock }));
    const seen: unknown[] = [];
    // A retry makes no third attempt: the breaker refuses it.
    await expect(
      read.execute(({ attempt, hedge, renew }) => {
        renew();
        seen.push([attempt, hedge]);
        fails();
      }),
    ).rejects.toThrow('breaker: rejected: open');
    expect(seen).toMatchObject([
      [1, false],
      [2, false],
    ]);
    await expect(write.execute(() => 1)).rejects.toThrow('breaker: rejected: open');
    vendor.reset();
    expect(await write.execute(({ attempt }) => attempt)).toBe(1);
    expect(await wrap(write, read).execute(() => 'both')).toBe('both');
  });

  test('the signal of the caller and the cut of an outer timeout reach the function', async () => {
    const clock = virtualClock();
    const both = wrap(timeout({ after: '1s', clock }), bulkhead(1));
    let aborted: unknown;
    const result = both.execute(({ signal }) => {
      signal.addEventListener('abort', () => {
        aborted = signal.reason;
      });
      return never();
    });
    result.catch(() => {});
    await clock.advance(1000);
    await expect(result).rejects.toThrow('timeout: timed out');
    expect(String(aborted)).toContain('timed out');
    const controller = new AbortController();
    const other = both.execute(never, { signal: controller.signal });
    controller.abort('enough');
    await expect(other).rejects.toBe('enough');
    expect(await both.execute(() => 'free again')).toBe('free again');
    expect(() => wrap({} as never)).toThrow(PolicyError);
  });
});
