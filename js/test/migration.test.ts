// The rows of the README's table "Coming from another package": each runs both packages on the same script in virtual time.

import { readFileSync } from 'node:fs';
import asyncRetry from 'async-retry';
import Bottleneck from 'bottleneck';
import * as cockatiel from 'cockatiel';
import { backOff } from 'exponential-backoff';
import * as limiters from 'limiter';
import Opossum from 'opossum';
import pLimit from 'p-limit';
import PQueue from 'p-queue';
import pRetry, { AbortError } from 'p-retry';
import pThrottle from 'p-throttle';
import { BurstyRateLimiter, RateLimiterMemory, RateLimiterQueue } from 'rate-limiter-flexible';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  bulkhead,
  type Clock,
  circuitBreaker,
  pipeline,
  policy,
  rateLimiter,
  retry,
  systemClock,
  timeout,
  wrap,
} from '../src/index.js';

const SEED = 20_261_122;

let clock: Clock;
beforeEach(() => {
  vi.useFakeTimers({
    toFake: [
      'setTimeout',
      'clearTimeout',
      'setInterval',
      'clearInterval',
      'setImmediate',
      'clearImmediate',
      'Date',
      'performance',
    ],
  });
  // Of its own: the time of each test begins again.
  clock = systemClock();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (milliseconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(milliseconds);
const down = (): never => {
  throw new Error('down');
};
const never = (): Promise<never> => new Promise(() => {});

/** The same numbers in each run, from 0 to 1. */
function random(): () => number {
  let state = SEED;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** How a promise settles: its value, or the message of its error, and when. */
async function ended(work: () => unknown): Promise<unknown> {
  const begun = performance.now();
  try {
    return ['value', await work(), performance.now() - begun];
  } catch (error) {
    return ['error', (error as Error)?.message ?? error, performance.now() - begun];
  }
}

/** When each attempt of a function that always fails was made, and how the call ended. */
async function attempts(
  start: (task: () => never) => Promise<unknown>,
  longest = 3_600_000,
): Promise<unknown[]> {
  const begun = performance.now();
  const times: unknown[] = [];
  const result = ended(() =>
    start(() => {
      times.push(performance.now() - begun);
      return down();
    }),
  );
  await pass(longest);
  const [how, what] = (await result) as unknown[];
  return [...times, how, what];
}

/** When each of some calls at once began, in milliseconds. */
async function starts(
  calls: number,
  start: (task: () => Promise<void>, i: number) => unknown,
  longest = 60_000,
): Promise<(number | string)[]> {
  const begun = performance.now();
  const times: (number | string)[] = Array(calls).fill('waits');
  for (let i = 0; i < calls; i++) {
    const task = async (): Promise<void> => {
      times[i] = Math.round(performance.now() - begun);
    };
    Promise.resolve(start(task, i)).catch(() => {
      times[i] = 'refused';
    });
  }
  await pass(longest);
  return times;
}

interface Breaker {
  execute(task: () => unknown): Promise<unknown>;
}

/** What calls did, each some time after the one before: `ran`, or `refused` without a run. */
async function ran(
  breaker: Breaker,
  script: readonly (readonly [wait: number, ok: boolean])[],
): Promise<string[]> {
  const all: string[] = [];
  for (const [wait, ok] of script) {
    await pass(wait);
    let did = 'refused';
    await breaker
      .execute(() => {
        did = 'ran';
        return ok ? 1 : down();
      })
      .catch(() => {});
    all.push(did);
  }
  return all;
}

/** Two breakers on the same script, one after the other in virtual time. */
async function same(
  there: Breaker,
  here: Breaker,
  script: readonly (readonly [number, boolean])[],
): Promise<void> {
  const one = await ran(there, script);
  await pass(1e6);
  const two = await ran(here, script);
  expect(one).toContain('refused');
  expect(two, `seed ${SEED}`).toEqual(one);
}

const opossums: Opossum[] = [];
const opossum = (f: () => unknown, options: Opossum.Options): Opossum & Breaker => {
  const one = new Opossum(async () => f(), options);
  opossums.push(one);
  return one as never;
};
afterEach(() => {
  for (const one of opossums.splice(0)) one.shutdown();
});
/** A breaker of opossum whose function is the function of the call. */
function firing(options: Opossum.Options): Breaker & { readonly breaker: Opossum } {
  let task = (): unknown => 1;
  const breaker = opossum(() => task(), options);
  return {
    breaker,
    execute(next) {
      task = next;
      return breaker.fire();
    },
  };
}

/** The rows, by their left cells. */
const rows: { readonly [there: string]: () => Promise<void> } = {
  async 'cockatiel `retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() })`'() {
    const there = cockatiel.retry(cockatiel.handleAll, {
      maxAttempts: 3,
      backoff: new cockatiel.ExponentialBackoff(),
    });
    const here = retry({ attempts: 4, backoff: { exponential: '128ms' }, clock });
    const counts = [await attempts((f) => there.execute(f)), await attempts((f) => here.execute(f))];
    for (const times of counts) expect([times.length, ...times.slice(4)]).toEqual([6, 'error', 'down']);
  },

  async 'cockatiel `new ExponentialBackoff({ generator: noJitterGenerator })`'() {
    const backoff = new cockatiel.ExponentialBackoff({ generator: cockatiel.noJitterGenerator });
    const there = cockatiel.retry(cockatiel.handleAll, { maxAttempts: 12, backoff });
    const here = retry({
      attempts: 13,
      backoff: { exponential: '128ms', max: '30s' },
      jitter: 'none',
      clock,
    });
    const times = await attempts((f) => there.execute(f));
    expect(times.slice(0, 4)).toEqual([0, 128, 384, 896]);
    expect(await attempts((f) => here.execute(f))).toEqual(times);
  },

  async 'cockatiel `circuitBreaker(handleAll, { halfOpenAfter: 10_000, breaker: new ConsecutiveBreaker(5) })`'() {
    const there = cockatiel.circuitBreaker(cockatiel.handleAll, {
      halfOpenAfter: 10_000,
      breaker: new cockatiel.ConsecutiveBreaker(5),
    });
    const here = circuitBreaker({ window: { consecutive: 5 }, open: '10s', probes: 1, clock });
    const next = random();
    await same(
      there,
      here,
      Array.from({ length: 500 }, () => [Math.floor(next() * 4000), next() < 0.3] as const),
    );
  },

  async 'cockatiel `new SamplingBreaker({ threshold: 0.2, duration: 30_000 })`'() {
    const breaker = new cockatiel.SamplingBreaker({ threshold: 0.2, duration: 30_000 });
    const there = cockatiel.circuitBreaker(cockatiel.handleAll, { halfOpenAfter: 10_000, breaker });
    const here = circuitBreaker({
      window: { time: '30s', buckets: 30 },
      minimum: 750,
      failure_rate: '20.0001%',
      open: '10s',
      probes: 1,
      clock,
    });
    // Exactly a fifth of 750 fails, which both allow; then one more fails, and both open.
    const fifth = Array.from({ length: 750 }, (_, i) => [1, i % 5 > 0] as const);
    await same(there, here, [...fifth, [1, true], [1, false], [1, false], [1, true]]);
  },

  async 'cockatiel `bulkhead(5, 10)`'() {
    const there = cockatiel.bulkhead(5, 10);
    const here = bulkhead({ concurrent: 5, queue: 10, clock });
    const run = (execute: (task: () => Promise<void>) => Promise<unknown>): Promise<unknown> =>
      starts(20, (task) =>
        execute(async () => {
          await task();
          await new Promise((resolve) => setTimeout(resolve, 1000));
        }),
      );
    const times = await run((task) => there.execute(task));
    expect(times).toEqual([
      ...Array(5).fill(0),
      ...Array(5).fill(1000),
      ...Array(5).fill(2000),
      ...Array(5).fill('refused'),
    ]);
    expect(await run((task) => here.execute(task))).toEqual(times);
  },

  async 'cockatiel `timeout(2000, TimeoutStrategy.Aggressive)`'() {
    const there = cockatiel.timeout(2000, cockatiel.TimeoutStrategy.Aggressive);
    const here = timeout({ after: '2s', clock });
    const both = [ended(() => there.execute(never)), ended(() => here.execute(never))];
    await pass(5000);
    expect((await Promise.all(both)).map((end) => (end as unknown[])[2])).toEqual([2000, 2000]);
    // The other strategy waits for the function.
    const other = cockatiel.timeout(2000, cockatiel.TimeoutStrategy.Cooperative);
    let waits = true;
    void ended(() => other.execute(never)).then(() => {
      waits = false;
    });
    await pass(5000);
    expect(waits).toBe(true);
  },

  async 'cockatiel `wrap(retry, breaker, timeout)`'() {
    const there = cockatiel.wrap(
      cockatiel.retry(cockatiel.handleAll, { maxAttempts: 3, backoff: new cockatiel.ConstantBackoff(100) }),
      cockatiel.circuitBreaker(cockatiel.handleAll, {
        halfOpenAfter: 10_000,
        breaker: new cockatiel.ConsecutiveBreaker(9),
      }),
      cockatiel.timeout(2000, cockatiel.TimeoutStrategy.Aggressive),
    );
    const breaker = circuitBreaker({ window: { consecutive: 9 }, open: '10s', clock });
    const again = { attempts: 4, backoff: { constant: '100ms' }, jitter: 'none' } as const;
    const here = wrap(retry({ ...again, clock }), breaker, timeout({ after: '2s', clock }));
    const other = pipeline(
      [{ retry: again }, { breaker: { window: { consecutive: 9 } } }, { timeout: '2s' }],
      { clock },
    );
    const run = async (execute: (task: () => Promise<never>) => Promise<unknown>): Promise<unknown> => {
      const times: number[] = [];
      const begun = performance.now();
      const end = ended(() =>
        execute(() => {
          times.push(performance.now() - begun);
          return never();
        }),
      );
      await pass(60_000);
      const [how, , when] = (await end) as unknown[];
      return [times, how, when];
    };
    const all = [
      await run((task) => there.execute(task)),
      await run((task) => here.execute(task)),
      await run((task) => other.execute(task)),
    ];
    expect(all[0]).toEqual([[0, 2100, 4200, 6300], 'error', 8300]);
    expect(all).toEqual([all[0], all[0], all[0]]);
  },

  async 'cockatiel `handleWhen(f)`'() {
    const again = (error: Error): boolean => error.message === 'down';
    const there = cockatiel.retry(cockatiel.handleWhen(again), {
      maxAttempts: 2,
      backoff: new cockatiel.ConstantBackoff(10),
    });
    const here = retry({
      attempts: 3,
      backoff: { constant: '10ms' },
      jitter: 'none',
      outcome: (error) => (error ? (again(error as Error) ? 'fail' : 'ignore') : 'ok'),
      clock,
    });
    for (const task of [down, () => Promise.reject(new Error('other'))]) {
      const run = async (execute: (task: () => Promise<unknown>) => Promise<unknown>): Promise<unknown> => {
        let count = 0;
        const end = ended(() =>
          execute(async () => {
            count++;
            return task();
          }),
        );
        await pass(1000);
        return [count, await end];
      };
      expect(await run((f) => here.execute(f))).toEqual(await run((f) => there.execute(f)));
    }
  },

  async 'cockatiel `fallback(handleAll, value)`'() {
    const there = cockatiel.fallback(cockatiel.handleAll, 'value');
    const here = pipeline([{ bulkhead: 9 }], { fallback: () => 'value', clock });
    for (const task of [down, () => 'own']) {
      expect(await here.execute(task)).toBe(await there.execute(task));
    }
  },

  async 'cockatiel `breaker.isolate()`, `onStateChange`, `onSuccess`, `onFailure`'() {
    const there = cockatiel.circuitBreaker(cockatiel.handleAll, {
      halfOpenAfter: 10_000,
      breaker: new cockatiel.ConsecutiveBreaker(1),
    });
    const here = circuitBreaker({ window: { consecutive: 1 }, open: '10s', probes: 1, clock });
    const theirs: unknown[] = [];
    const ours: unknown[] = [];
    there.onStateChange((state) => theirs.push(cockatiel.CircuitState[state]));
    there.onSuccess(() => theirs.push('success'));
    there.onFailure(({ reason }) => theirs.push((reason as { error: Error }).error.message));
    const NAMES = { open: 'Open', closed: 'Closed', 'half-open': 'HalfOpen', 'forced-open': 'Isolated' };
    here.on('change', ({ state }) => ours.push(NAMES[state as 'open']));
    here.on('end', ({ outcome, error }) =>
      ours.push(outcome === 'ok' ? 'success' : (error as Error).message),
    );
    const isolated = there.isolate();
    here.transition('forced-open');
    for (const breaker of [there, here]) {
      expect(await ended(() => breaker.execute(down))).not.toContain('down');
    }
    isolated.dispose();
    here.transition('closed');
    for (const breaker of [there, here]) await ended(() => breaker.execute(down));
    await pass(10_000);
    for (const breaker of [there, here]) await breaker.execute(() => 1);
    expect([...theirs].sort()).toEqual([
      'Closed',
      'Closed',
      'HalfOpen',
      'Isolated',
      'Open',
      'down',
      'success',
    ]);
    expect([...ours].sort()).toEqual([...theirs].sort());
  },

  async 'opossum `new CircuitBreaker(f, { timeout: 3000, errorThresholdPercentage: 50, resetTimeout: 30_000 })`, `fire()`'() {
    const there = firing({ timeout: 3000, errorThresholdPercentage: 50, resetTimeout: 30_000 });
    const here = pipeline(
      [
        {
          breaker: {
            window: { time: '10s' },
            minimum: 1,
            failure_rate: '50.0001%',
            open: '30s',
            probes: 1,
          },
        },
        { timeout: '3s' },
      ],
      { clock },
    );
    const next = random();
    // Half of the calls may fail; with one more, both open, and refuse for 30 seconds.
    const burst = Array.from({ length: 40 }, (_, i) => [Math.floor(next() * 100), i % 2 === 0] as const);
    await same(there, here, [
      ...burst,
      [0, false],
      [0, false],
      [0, false],
      [0, true],
      [29_000, true],
      [1000, false],
      [0, true],
    ]);
    const cuts = [ended(() => there.execute(never)), ended(() => here.execute(never))];
    await pass(40_000);
    expect((await Promise.all(cuts)).map((end) => (end as unknown[])[0])).toEqual(['error', 'error']);
  },

  async 'opossum `volumeThreshold`, `errorFilter`, `capacity`'() {
    const wrong = (error: unknown): boolean => (error as Error).message === 'mine';
    const there = firing({
      timeout: false,
      volumeThreshold: 10,
      errorFilter: wrong,
      capacity: 2,
      resetTimeout: 30_000,
    });
    const here = pipeline(
      [
        { bulkhead: 2 },
        {
          breaker: { window: { time: '10s' }, minimum: 10, failure_rate: '50.0001%', open: '30s', probes: 1 },
        },
      ],
      { clock, outcome: (error) => (error && !wrong(error) ? 'fail' : 'ok') },
    );
    for (const breaker of [there, here]) {
      for (let i = 0; i < 20; i++)
        await ended(() => breaker.execute(() => Promise.reject(new Error('mine'))));
    }
    await pass(20_000);
    // The tenth failure of ten calls opens both.
    await same(
      there,
      here,
      Array.from({ length: 15 }, () => [1, false] as const),
    );
    await pass(40_000);
    for (const breaker of [there, here]) await ended(() => breaker.execute(() => 1));
    const run = (breaker: Breaker): Promise<unknown> =>
      starts(4, (task) =>
        breaker.execute(async () => {
          await task();
          await never();
        }),
      );
    expect(await run(there)).toEqual([0, 0, 'refused', 'refused']);
    expect(await run(here)).toEqual([0, 0, 'refused', 'refused']);
  },

  async 'opossum `fallback(f)`, events `open`, `halfOpen`, `close`'() {
    const there = firing({ timeout: false, resetTimeout: 30_000 });
    there.breaker.fallback(() => 'later');
    const here = policy(
      {
        steps: [{ breaker: { window: { time: '10s' }, minimum: 1, open: '30s', probes: 1 } }],
        fallback: {},
      },
      { fallback: () => 'later', clock },
    );
    const theirs: unknown[] = [];
    const ours: unknown[] = [];
    for (const [name, state] of [
      ['open', 'open'],
      ['halfOpen', 'half-open'],
      ['close', 'closed'],
    ] as const) {
      there.breaker.on(name as 'open', () => theirs.push(state, performance.now()));
    }
    here.on('change', ({ state, at }) => ours.push(state, at));
    for (const breaker of [there, here]) expect(await breaker.execute(down)).toBe('later');
    for (const breaker of [there, here]) expect(await breaker.execute(() => 1)).toBe('later');
    await pass(40_000);
    for (const breaker of [there, here]) expect(await breaker.execute(() => 1)).toBe(1);
    expect(ours).toEqual(['open', 0, 'half-open', 30_000, 'closed', 40_000]);
    expect(theirs).toEqual(ours);
  },

  async 'bottleneck `new Bottleneck({ maxConcurrent: 5, highWater: 100, strategy: Bottleneck.strategy.OVERFLOW })`, `schedule(f)`'() {
    const there = new Bottleneck({
      maxConcurrent: 5,
      highWater: 100,
      strategy: Bottleneck.strategy.OVERFLOW,
    });
    const here = bulkhead({ concurrent: 5, queue: 100, clock });
    const run = (schedule: (task: () => Promise<void>) => Promise<unknown>): Promise<(number | string)[]> =>
      starts(
        120,
        (task) =>
          schedule(async () => {
            await task();
            await new Promise((resolve) => setTimeout(resolve, 1000));
          }),
        60_000,
      );
    const count = (times: (number | string)[]): number[] => [
      times.filter((time) => time === 'refused').length,
      times.filter((time) => typeof time === 'number').length,
    ];
    const [theirs, ours] = [
      await run((task) => there.schedule(task)),
      await run((task) => here.execute(task)),
    ];
    expect([count(theirs), count(ours)]).toEqual([
      [15, 105],
      [15, 105],
    ]);
  },

  async 'bottleneck `reservoir: 100, reservoirRefreshAmount: 100, reservoirRefreshInterval: 60_000`'() {
    const there = new Bottleneck({
      reservoir: 100,
      reservoirRefreshAmount: 100,
      reservoirRefreshInterval: 60_000,
    });
    const here = rateLimiter({ rate: '100/1m', algorithm: 'fixed-window', wait: '1d', queue: 10_000, clock });
    const minutes = (times: (number | string)[]): number[] =>
      [0, 1, 2, 3].map(
        (minute) => times.filter((time) => Math.floor(Number(time) / 60_000) === minute).length,
      );
    const theirs = await starts(350, (task) => there.schedule(task), 300_000);
    const ours = await starts(350, (task) => here.execute(task), 300_000);
    expect(minutes(theirs)).toEqual([100, 100, 100, 50]);
    expect(minutes(ours)).toEqual([100, 100, 100, 50]);
  },

  async 'bottleneck `minTime: 100`'() {
    const there = new Bottleneck({ minTime: 100 });
    const here = rateLimiter({ rate: '10/1s', burst: 1, wait: '1h', queue: 10_000, clock });
    const times = await starts(20, (task) => here.execute(task));
    expect(times).toEqual(Array.from({ length: 20 }, (_, i) => i * 100));
    const theirs = await starts(20, (task) => there.schedule(task));
    for (const [i, time] of theirs.entries())
      expect(Math.abs((time as number) - i * 100)).toBeLessThanOrEqual(20);
  },

  async 'bottleneck `new Bottleneck.Group(options)`, `schedule({ weight: n }, f)`'() {
    const there = new Bottleneck.Group({ reservoir: 4 });
    const here = rateLimiter.keyed({ rate: '4/1d', algorithm: 'fixed-window', clock });
    const count = (times: (number | string)[]): number =>
      times.filter((time) => typeof time === 'number').length;
    const theirs = await starts(10, (task, i) => there.key(`${i % 2}`).schedule({ weight: 2 }, task));
    const ours = await starts(10, (task, i) => here.execute(task, { key: `${i % 2}`, cost: 2 }));
    // What has no reservoir left waits there, and is refused here, where there is no `wait`.
    expect([count(theirs), count(ours), theirs.includes('waits'), ours.includes('refused')]).toEqual([
      4,
      4,
      true,
      true,
    ]);
  },

  async "limiter `new RateLimiter({ tokensPerInterval: 150, interval: 'hour' })`"() {
    const there = new limiters.RateLimiter({ tokensPerInterval: 150, interval: 'hour' });
    const here = pipeline([{ limit: { rate: '150/1h', algorithm: 'fixed-window' } }, { limit: '150/1h' }], {
      clock,
    });
    const next = random();
    const theirs: boolean[] = [];
    const ours: boolean[] = [];
    for (let i = 0; i < 2000; i++) {
      await pass(Math.floor(next() * 20_000));
      theirs.push(there.tryRemoveTokens(1));
      const verdict = here.tryAcquire();
      if (verdict.ok) verdict.success();
      ours.push(verdict.ok);
    }
    const count = (all: boolean[]): number => all.filter(Boolean).length;
    expect(count(theirs)).toBeLessThan(1500);
    // Windows begin at times of the wall clock there, and with a call here.
    expect(Math.abs(count(theirs) - count(ours))).toBeLessThan(30);
  },

  async 'limiter `tryRemoveTokens(n)`, `removeTokens(n)`, `getTokensRemaining()`'() {
    const there = new limiters.RateLimiter({ tokensPerInterval: 10, interval: 'second' });
    const here = rateLimiter({ rate: '10/1s', wait: '1m', clock });
    const verdicts = [
      there.tryRemoveTokens(7),
      there.tryRemoveTokens(7),
      Math.floor(there.getTokensRemaining()),
    ];
    expect(verdicts).toEqual([true, false, 3]);
    expect([
      here.tryAcquire({ cost: 7 }).ok,
      here.tryAcquire({ cost: 7 }).ok,
      here.quota().remaining,
    ]).toEqual(verdicts);
    const waits = [ended(() => there.removeTokens(7)), ended(() => here.acquire({ cost: 7 }))];
    await pass(10_000);
    const [theirs, ours] = (await Promise.all(waits)).map((end) => (end as unknown[])[2] as number);
    // The whole next second there, the time until 7 are free here.
    expect([theirs, ours]).toEqual([1000, 400]);
  },

  async 'rate-limiter-flexible `new RateLimiterMemory({ points: 5, duration: 1 })`, `consume(key)`'() {
    const there = new RateLimiterMemory({ points: 5, duration: 1 });
    const here = rateLimiter.keyed({ rate: '5/1s', algorithm: 'fixed-window', clock });
    const next = random();
    const theirs: unknown[] = [];
    const ours: unknown[] = [];
    for (let i = 0; i < 2000; i++) {
      await pass(Math.floor(next() * 100));
      const key = `key ${Math.floor(next() * 3)}`;
      await there.consume(key).then(
        ({ remainingPoints }) => theirs.push(remainingPoints),
        ({ msBeforeNext }) => theirs.push(msBeforeNext),
      );
      const verdict = here.tryAcquire(key);
      ours.push(verdict.ok ? verdict.remaining : verdict.retryAfter);
    }
    expect(Math.max(...(theirs as number[]))).toBeGreaterThan(100);
    expect(ours, `seed ${SEED}`).toEqual(theirs);
  },

  async 'rate-limiter-flexible `consume(key, n)`'() {
    const there = new RateLimiterMemory({ points: 5, duration: 1 });
    const here = rateLimiter.keyed({ rate: '5/1s', algorithm: 'fixed-window', clock });
    const consume = async (cost: number): Promise<boolean> =>
      there.consume('a', cost).then(
        () => true,
        () => false,
      );
    const costs = [2, 2, 4, 1];
    const theirs: boolean[] = [];
    for (const cost of costs) theirs.push(await consume(cost));
    // What is refused takes its points there, and nothing here.
    expect(theirs).toEqual([true, true, false, false]);
    expect(costs.map((cost) => here.tryAcquire('a', { cost }).ok)).toEqual([true, true, false, true]);
  },

  async 'rate-limiter-flexible `msBeforeNext`, `get(key)`, `delete(key)`'() {
    const there = new RateLimiterMemory({ points: 2, duration: 60 });
    const here = rateLimiter.keyed({ rate: '2/1m', algorithm: 'fixed-window', clock });
    for (let i = 0; i < 2; i++) {
      await there.consume('a');
      here.tryAcquire('a');
    }
    await pass(20_000);
    const their = await there.get('a');
    const our = here.quota('a');
    expect([their?.remainingPoints, their?.msBeforeNext]).toEqual([0, 40_000]);
    expect([our.remaining, our.next]).toEqual([0, 40_000]);
    expect([await there.delete('a'), here.evict('a')]).toEqual([true, true]);
    expect([await there.delete('a'), here.evict('a')]).toEqual([false, false]);
    expect([await there.get('a'), here.has('a')]).toEqual([null, false]);
  },

  async 'rate-limiter-flexible `BurstyRateLimiter`, `RateLimiterQueue`'() {
    const there = new BurstyRateLimiter(
      new RateLimiterMemory({ points: 2, duration: 1 }),
      new RateLimiterMemory({ keyPrefix: 'burst', points: 5, duration: 10 }),
    );
    const here = rateLimiter.keyed({ rate: '2/1s', burst: 7, clock });
    const count = async (take: () => Promise<boolean>): Promise<number> => {
      let all = 0;
      for (let i = 0; i < 20; i++) if (await take()) all++;
      return all;
    };
    const their = (): Promise<boolean> =>
      there.consume('a').then(
        () => true,
        () => false,
      );
    // Seven at once on both; the burst returns at once there after 10 seconds, with the rate here.
    expect([await count(their), await count(async () => here.tryAcquire('a').ok)]).toEqual([7, 7]);
    await pass(1000);
    expect([await count(their), await count(async () => here.tryAcquire('a').ok)]).toEqual([2, 2]);
    const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 2, duration: 1 }));
    const waits = rateLimiter({ rate: '2/1s', algorithm: 'fixed-window', wait: '1h', clock });
    const theirs = await starts(6, async (task) => queue.removeTokens(1).then(task));
    const ours = await starts(6, (task) => waits.execute(task));
    expect(ours).toEqual([0, 0, 1000, 1000, 2000, 2000]);
    for (const [i, time] of theirs.entries()) {
      expect(Math.abs((time as number) - (ours[i] as number))).toBeLessThanOrEqual(50);
    }
  },

  async 'p-retry `pRetry(f, { retries: 5, minTimeout: 1000 })`'() {
    const here = retry({ attempts: 6, backoff: { exponential: '1s' }, jitter: 'none', clock });
    const times = await attempts((f) => pRetry(f, { retries: 5, minTimeout: 1000 }));
    expect(times.slice(0, 4)).toEqual([0, 1000, 3000, 7000]);
    expect(await attempts((f) => here.execute(f))).toEqual(times);
  },

  async 'p-retry `AbortError`, `onFailedAttempt`'() {
    const stop = new Error('stop');
    const theirs: unknown[] = [];
    const ours: unknown[] = [];
    const task = (attempt: number): never => {
      if (attempt < 3) return down();
      throw stop;
    };
    const here = retry({
      attempts: 6,
      backoff: { exponential: '1s' },
      jitter: 'none',
      outcome: (error) => (error === stop ? 'ignore' : error ? 'fail' : 'ok'),
      clock,
    });
    here.on('retry', ({ attempt, error }) => ours.push(attempt, (error as Error).message));
    const both = [
      ended(() =>
        pRetry((attempt) => (attempt < 3 ? down() : Promise.reject(new AbortError(stop))), {
          retries: 5,
          onFailedAttempt: ({ attemptNumber, error }) => {
            if (attemptNumber < 3) theirs.push(attemptNumber, error.message);
          },
        }),
      ),
      ended(() => here.execute(({ attempt }) => task(attempt))),
    ];
    await pass(60_000);
    const ends = await Promise.all(both);
    expect(ends[0]).toEqual(['error', 'stop', 3000]);
    expect([ends[1], ours]).toEqual([ends[0], theirs]);
  },

  async 'async-retry `retry(f, { retries: 5, randomize: false })`, `bail(error)`'() {
    const here = retry({
      attempts: 6,
      backoff: { exponential: '1s' },
      jitter: 'none',
      outcome: (error) =>
        (error as Error | undefined)?.message === 'stop' ? 'ignore' : error ? 'fail' : 'ok',
      clock,
    });
    const times = await attempts((f) => asyncRetry(f, { retries: 5, randomize: false }));
    expect(times).toHaveLength(8);
    expect(await attempts((f) => here.execute(f))).toEqual(times);
    const both = [
      ended(() => asyncRetry((bail) => bail(new Error('stop')), { retries: 5 })),
      ended(() => here.execute(() => Promise.reject(new Error('stop')))),
    ];
    await pass(60_000);
    const [theirs, ours] = await Promise.all(both);
    expect(ours).toEqual(theirs);
  },

  async 'exponential-backoff `backOff(f, { numOfAttempts: 5, startingDelay: 100 })`'() {
    const here = retry({ attempts: 5, backoff: { exponential: '100ms' }, jitter: 'none', clock });
    const times = await attempts((f) =>
      backOff(f as () => Promise<never>, { numOfAttempts: 5, startingDelay: 100 }),
    );
    expect(times.slice(0, 4)).toEqual([0, 100, 300, 700]);
    expect(await attempts((f) => here.execute(f))).toEqual(times);
  },

  async 'p-limit `const limit = pLimit(3)`, `limit(f)`'() {
    const limit = pLimit(3);
    const here = bulkhead({ concurrent: 3, queue: 10_000, clock });
    const run = (start: (task: () => Promise<void>) => Promise<unknown>): Promise<unknown> =>
      starts(100, (task) =>
        start(async () => {
          await task();
          await new Promise((resolve) => setTimeout(resolve, 100));
        }),
      );
    const times = await run((task) => limit(task));
    expect(await run((task) => here.execute(task))).toEqual(times);
    // A call with a place begins at once here, and after what runs now there.
    let begun = 0;
    void limit(async () => begun++);
    expect(begun).toBe(0);
    void here.execute(async () => begun++);
    expect(begun).toBe(1);
    await pass(0);
    // More calls than places and queue are refused here, and wait there.
    for (let i = 0; i < 10_003; i++) void here.execute(never);
    expect(await here.attempt(never)).toMatchObject({ reason: 'full' });
  },

  async 'p-limit `limit.concurrency = 5`'() {
    const limit = pLimit(1);
    const here = bulkhead({ concurrent: 1, queue: 10_000, clock });
    const begun: [number, number] = [0, 0];
    for (let i = 0; i < 9; i++) {
      void limit(() => {
        begun[0]++;
        return never();
      });
      void here.execute(() => {
        begun[1]++;
        return never();
      });
    }
    await pass(10);
    expect(begun).toEqual([1, 1]);
    limit.concurrency = 5;
    here.configure({ concurrent: 5, queue: 10_000 });
    await pass(10);
    expect(begun).toEqual([5, 5]);
  },

  async 'bottleneck `updateSettings({ minTime: 50 })`'() {
    const theirs = new Bottleneck({ minTime: 1000 });
    const here = rateLimiter({ rate: '1/1s', burst: 1, wait: '1h', queue: 10_000, clock });
    theirs.updateSettings({ minTime: 50 });
    here.configure({ rate: '20/1s', burst: 1, wait: '1h', queue: 10_000 });
    const times = await starts(4, (task) => theirs.schedule(task));
    expect(times.map((time) => Math.round((time as number) / 50))).toEqual([0, 1, 2, 3]);
    expect(await starts(4, (task) => here.execute(task))).toEqual([0, 50, 100, 150]);
  },

  async 'p-retry `pRetry(f, { retries: Infinity })`'() {
    const here = retry({ attempts: 1000, backoff: { constant: '1ms' }, jitter: 'none', clock });
    expect(() => retry({ attempts: 1001 })).toThrow(/allowed a whole number from 1 to 1000$/);
    let count = 0;
    const end = ended(() =>
      here.execute(() => {
        count++;
        return down();
      }),
    );
    await pass(1000);
    expect([count, ...((await end) as unknown[])]).toEqual([1000, 'error', 'down', 999]);
  },

  async 'p-retry a `TypeError` that is not one of the network, an `onFailedAttempt` that throws'() {
    const defect = new TypeError('x is not a function');
    const theirs = ended(() => pRetry(() => Promise.reject(defect), { retries: 2 }));
    const here = retry({
      attempts: 3,
      outcome: (error) => (error === defect ? 'ignore' : error ? 'fail' : 'ok'),
      clock,
    });
    const ours = ended(() => here.execute(() => Promise.reject(defect)));
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    const stops = (): never => {
      throw new Error('stop');
    };
    const stopped = ended(() => pRetry(down, { retries: 2, minTimeout: 100, onFailedAttempt: stops }));
    const goesOn = retry({ attempts: 3, backoff: { constant: '100ms' }, jitter: 'none', clock });
    goesOn.on('retry', stops);
    const gone = ended(() => goesOn.execute(down));
    await pass(60_000);
    expect(await theirs).toEqual(['error', 'x is not a function', 0]);
    expect(await ours).toEqual(await theirs);
    expect(await stopped).toEqual(['error', 'stop', 0]);
    expect(await gone).toEqual(['error', 'down', 200]);
    expect(printed).toHaveBeenCalledOnce();
    printed.mockRestore();
  },

  async 'p-limit `limit.activeCount`, `limit.pendingCount`, `limit.clearQueue()`'() {
    const limit = pLimit(3);
    const here = bulkhead({ concurrent: 3, queue: 100, clock });
    const controller = new AbortController();
    for (let i = 0; i < 10; i++) {
      void limit(never);
      here.execute(never, { signal: controller.signal }).catch(() => {});
    }
    await pass(0);
    const counts = (): unknown => ({ running: limit.activeCount, queued: limit.pendingCount, free: 0 });
    expect(here.counts).toEqual(counts());
    limit.clearQueue();
    expect(counts()).toEqual({ running: 3, queued: 0, free: 0 });
    // A signal also ends what runs, for its caller, and frees its place.
    controller.abort();
    await pass(0);
    expect(here.counts).toEqual({ running: 0, queued: 0, free: 3 });
  },

  async 'p-queue `new PQueue({ concurrency: 3 })`, `add(f)`, `onIdle()`'() {
    const queue = new PQueue({ concurrency: 3 });
    const here = pipeline([{ bulkhead: { concurrent: 3, queue: 10_000 } }], { clock });
    const run = async (
      start: (task: () => Promise<void>) => Promise<unknown>,
      idle: () => Promise<void>,
    ): Promise<unknown> => {
      const begun = performance.now();
      const times = starts(30, (task) =>
        start(async () => {
          await task();
          await new Promise((resolve) => setTimeout(resolve, 100));
        }),
      );
      let when = 0;
      void idle().then(() => {
        when = performance.now() - begun;
      });
      return [await times, when];
    };
    const theirs = await run(
      (task) => queue.add(task),
      () => queue.onIdle(),
    );
    expect((theirs as unknown[])[1]).toBe(1000);
    const ours = await run(
      (task) => here.execute(task),
      () => here.drain(),
    );
    expect(ours).toEqual(theirs);
  },

  async 'p-queue `intervalCap: 2, interval: 1000`'() {
    const queue = new PQueue({ intervalCap: 2, interval: 1000 });
    const here = rateLimiter({ rate: '2/1s', algorithm: 'fixed-window', wait: '1h', queue: 10_000, clock });
    const times = await starts(9, (task) => queue.add(task));
    expect(times).toEqual([0, 0, 1000, 1000, 2000, 2000, 3000, 3000, 4000]);
    expect(await starts(9, (task) => here.execute(task))).toEqual(times);
  },

  async 'p-throttle `pThrottle({ limit: 2, interval: 1000 })(f)`'() {
    const here = rateLimiter({ rate: '2/1s', algorithm: 'fixed-window', wait: '1h', queue: 10_000, clock });
    const throttled = pThrottle({ limit: 2, interval: 1000 })((task: () => Promise<void>) => task());
    const times = await starts(9, (task) => throttled(task));
    expect(times).toEqual([0, 0, 1000, 1000, 2000, 2000, 3000, 3000, 4000]);
    expect(await starts(9, (task) => here.execute(task))).toEqual(times);
  },
};

test.each(Object.entries(rows))('%s', async (_, run) => run());

test('each row of the table has a test, and each test a row', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, table = ''] = readme.split('\n## Coming from another package\n');
  expect(table.length).toBeGreaterThan(1000);
  const cells = [...table.matchAll(/^\| (?!there|---)(.*?) \| /gm)].map(([, there]) => there);
  expect(cells.sort()).toEqual(Object.keys(rows).sort());
});
