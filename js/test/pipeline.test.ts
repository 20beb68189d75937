import { describe, expect, test } from 'vitest';
import {
  type Budget,
  type Decision,
  PolicyError,
  pipeline,
  policy,
  RejectedError,
  retry,
  TimeoutError,
  timeout,
} from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const never = () => new Promise<never>(() => {});
const failing = (times: number) => {
  let n = 0;
  return () => (++n <= times ? Promise.reject(new Error(`no ${n}`)) : Promise.resolve(n));
};

describe('retry', () => {
  const options = { attempts: 3, backoff: { constant: '1s' }, jitter: 'none' } as const;

  test('tries again after the backoff', async () => {
    const clock = virtualClock();
    const result = retry({ ...options, clock }).execute(failing(2));
    await clock.advance(1999);
    let done = false;
    void result.then(() => (done = true));
    await clock.advance(0);
    expect(done).toBe(false);
    await clock.advance(1);
    expect(await result).toBe(3);
  });

  test('gives up with the last error, and a retry delay is a floor', async () => {
    const clock = virtualClock();
    const retries = retry({ ...options, clock });
    const heard: Decision[] = [];
    retries.on((decision) => heard.push(decision));
    const result = retries.execute(() =>
      Promise.reject(Object.assign(new Error('busy'), { retryAfter: 5000 })),
    );
    const thrown = expect(result).rejects.toThrow('busy');
    await clock.advance(10_000);
    await thrown;
    expect(heard.map(({ kind, reason, until, at }) => [kind, reason, until, at])).toEqual([
      ['admit', undefined, undefined, 0],
      ['retry', 'fail', 5000, 0],
      ['admit', undefined, undefined, 5000],
      ['retry', 'fail', 10_000, 5000],
      ['admit', undefined, undefined, 10_000],
      ['end', 'attempts', undefined, 10_000],
    ]);
  });

  test('budgets of tokens, and one that adapts', async () => {
    const reasons = async (budget: Budget, fails: string) => {
      const own = retry({ attempts: 2, backoff: 'none', budget, clock: virtualClock() });
      const ends: unknown[] = [];
      own.on('end', ({ reason, outcome }) => ends.push(reason ?? outcome));
      let n = 0;
      const attempt = () => (fails[n++] === 'x' ? Promise.reject(new Error('no')) : Promise.resolve());
      while (n < fails.length) await own.execute(attempt).catch(() => {});
      return ends;
    };
    expect(await reasons({ tokens: 10 }, 'x.xxxxx')).toEqual(['ok', 'attempts', 'attempts', 'budget']);
    const throttled = await reasons({ max_tokens: 4, token_ratio: 1 }, 'xx..x.xxx');
    expect(throttled).toEqual(['attempts', 'ok', 'ok', 'ok', 'attempts', 'budget']);
    expect(await reasons({ adaptive: '10s' }, 'xxx.')).toEqual(['attempts', 'ok']);
  });

  test('a function gives the delay, of a retry and of a pipeline', async () => {
    const clock = virtualClock();
    const asked: unknown[] = [];
    const delay = ({ attempt, error, value }: { attempt: number; error: unknown; value: unknown }) => {
      asked.push([attempt, error, value]);
      return attempt * 100;
    };
    const outcome = (_: unknown, value: unknown) => (value === 3 ? 'ok' : 'fail');
    const own = retry({ attempts: 3, delay, outcome, clock });
    const steps = [
      { timeout: '1m' },
      { retry: { attempts: 3, backoff: { constant: '150ms' }, jitter: 'none' } },
    ] as const;
    const vendor = pipeline(steps, { delay, outcome, clock });
    const delays: unknown[] = [];
    for (const one of [own, vendor]) {
      one.on('retry', ({ delay }) => delays.push(delay));
      let n = 0;
      const result = one.execute(() => Promise.resolve(++n));
      await clock.advance(1000);
      expect(await result).toBe(3);
    }
    expect(delays).toEqual([100, 200, 150, 200]);
    expect(asked).toEqual([
      [1, undefined, 1],
      [2, undefined, 2],
      [1, undefined, 1],
      [2, undefined, 2],
    ]);
    expect(() => pipeline(steps, { delay: 5 as never })).toThrow('delay: found 5; allowed a function');
  });

  test('a refusal below it is waited for, and concerns no result', async () => {
    const clock = virtualClock();
    const discarded: unknown[] = [];
    const steps = [{ retry: { ...options, refusals: 'wait' } }, { limit: '1/2s' }] as const;
    const vendor = pipeline(steps, { clock, discard: (value) => discarded.push(value) });
    expect(await vendor.execute(() => 1)).toBe(1);
    const heard: unknown[] = [];
    vendor.on('retry', ({ reason, until, attempt }) => heard.push([reason, until, attempt]));
    const later = vendor.execute(({ attempt }) => attempt);
    await clock.advance(2000);
    expect(await later).toBe(1);
    const admitted = vendor.acquire();
    await clock.advance(2000);
    expect(await admitted).toMatchObject({ ok: true });
    expect(vendor.tryAcquire()).toMatchObject({ ok: false, reason: 'rate' });
    expect(heard).toEqual([
      ['rate', 2000, 1],
      ['rate', 4000, 1],
    ]);
    expect(discarded).toEqual([]);
  });

  test('an aborted signal ends the backoff', async () => {
    const clock = virtualClock();
    const controller = new AbortController();
    const result = retry({ ...options, clock }).execute(failing(9), { signal: controller.signal });
    await clock.advance(500);
    controller.abort('enough');
    await expect(result).rejects.toBe('enough');
    await clock.advance(9000);
    expect(clock.timers).toBe(0);
  });

  test('ignored outcomes and results that are values', async () => {
    const clock = virtualClock();
    let calls = 0;
    const ignoring = retry({ ...options, clock, outcome: () => 'ignore' });
    await expect(ignoring.execute(() => Promise.reject(new Error(`${++calls}`)))).rejects.toThrow('1');
    const values = retry({ ...options, clock, outcome: (_, value) => (value === 3 ? 'ok' : 'fail') });
    const result = values.execute(({ attempt }) => attempt);
    await clock.advance(5000);
    expect(await result).toBe(3);
  });

  test('a budget counts', async () => {
    const clock = virtualClock();
    const budgeted = retry({ ...options, clock, budget: { ratio: '50%', minimum: '0/1s' } as never });
    const first = budgeted.execute(failing(1)).catch((e: Error) => e.message);
    const second = budgeted.execute(failing(1)).catch((e: Error) => e.message);
    await clock.advance(5000);
    expect([await first, await second]).toEqual([2, 'no 1']);
    const third = budgeted.execute(failing(1)).catch((e: Error) => e.message);
    await clock.advance(5000);
    expect(await third).toBe('no 1');
  });

  test('short form, default, name, wrong options', async () => {
    expect(await retry().execute(() => 1)).toBe(1);
    expect(await retry(2).execute(() => 1)).toBe(1);
    expect(await retry({ name: 'mine' }).execute(() => 1)).toBe(1);
    expect(() => retry({ attempts: '3' } as never)).toThrow(PolicyError);
  });
});

describe('timeout', () => {
  test('cuts at its mark, aborts the signal and drops the result', async () => {
    const clock = virtualClock();
    const limit = timeout({ after: '1s', clock });
    let signal: AbortSignal | undefined;
    const result = limit.execute((attempt) => {
      signal = attempt.signal;
      return never();
    });
    const thrown = expect(result).rejects.toMatchObject({ name: 'TimeoutError', step: 'timeout' });
    await clock.advance(999);
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    await thrown;
    expect(signal?.reason).toBeInstanceOf(TimeoutError);
    expect(await timeout('1s').execute(() => 7)).toBe(7);
  });

  test('as a value', async () => {
    const clock = virtualClock();
    const result = timeout({ after: '1s', clock }).attempt(never);
    await clock.advance(1000);
    expect(await result).toMatchObject({ ok: false, step: 'timeout', reason: 'timeout' });
  });

  test('a signal that is asked for after the cut is aborted', async () => {
    const clock = virtualClock();
    let late: AbortSignal | undefined;
    const result = timeout({ after: '1s', clock }).attempt(async (attempt) => {
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 2000));
      late = attempt.signal;
    });
    await clock.advance(3000);
    await result;
    expect(late?.aborted).toBe(true);
  });
});

describe('pipeline', () => {
  test('a cut votes and is retried from its mark', async () => {
    const clock = virtualClock();
    const discarded: unknown[] = [];
    const p = pipeline(
      [
        { timeout: '30s' },
        { retry: { attempts: 2, backoff: { constant: '1s' }, jitter: 'none' } },
        { breaker: { window: { consecutive: 5 } } },
        { timeout: '2s' },
      ],
      { clock, discard: (value) => discarded.push(value) },
    );
    const heard: [string, number][] = [];
    p.on(({ kind, at }) => heard.push([kind, at]));
    const result = p.execute(async ({ attempt }) => {
      if (attempt === 1) await new Promise<void>((resolve) => clock.setTimeout(resolve, 2500));
      return attempt;
    });
    await clock.advance(4000);
    expect(await result).toBe(2);
    expect(discarded).toEqual([1]);
    expect(heard).toEqual([
      ['admit', 0],
      ['timeout', 2000],
      ['retry', 2000],
      ['admit', 3000],
      ['end', 3000],
    ]);
  });

  test('a refusal of a later attempt has the last error as its cause', async () => {
    const clock = virtualClock();
    const p = pipeline([{ retry: { attempts: 3, backoff: 'none' } }, { limit: '1/1h' }], { clock });
    const error = await p.execute(failing(5)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(RejectedError);
    expect((error as Error).cause).toMatchObject({ message: 'no 1' });
    expect(await p.attempt(() => 1)).toMatchObject({ ok: false, step: 'limit', reason: 'rate' });
  });

  test('waits, deadlines and aborts', async () => {
    const clock = virtualClock();
    const p = pipeline([{ bulkhead: { concurrent: 1, queue: 5 } }], { clock });
    const first = p.execute(never, { deadline: 3000 }).catch((e: unknown) => e);
    const controller = new AbortController();
    const second = p.execute(() => 2, { signal: controller.signal });
    const third = p.attempt(() => 3, { deadline: 1000 });
    const fourth = p.execute(() => clock.now());
    controller.abort('enough');
    await expect(second).rejects.toBe('enough');
    await clock.advance(1000);
    expect(await third).toMatchObject({ ok: false, step: 'deadline', reason: 'timeout' });
    await clock.advance(2000);
    expect(await first).toBeInstanceOf(TimeoutError);
    expect(await fourth).toBe(3000);
    await expect(p.execute(() => 1, { deadline: -1 })).rejects.toThrow(PolicyError);
    await expect(p.execute(() => 1, { cost: -1 })).rejects.toThrow(PolicyError);
    expect(await p.execute(() => 1)).toBe(1);
  });

  test('keys have cells of their own', async () => {
    const clock = virtualClock();
    const p = pipeline([{ limit: { rate: '1/1h', per: ['key', 'header:x-tenant'] } }], { clock });
    const ask = async (key: string, tenant: string) =>
      (await p.attempt(() => 1, { key, attributes: { 'header:x-tenant': tenant } })).ok;
    expect([await ask('a', 'x'), await ask('a', 'x'), await ask('a', 'y'), await ask('b', 'x')]).toEqual([
      true,
      false,
      true,
      true,
    ]);
    expect((await p.attempt(() => 1)).ok).toBe(true);
    expect((await p.attempt(() => 1)).ok).toBe(false);
    const other = pipeline([{ limit: { rate: '1/1h', per: ['key', 'header:x-tenant'] } }], { clock });
    expect(other.restore(JSON.parse(JSON.stringify(p.snapshot())))).toEqual(['limit']);
    const lookup = (name: string) => (name === 'header:x-tenant' ? 'y' : undefined);
    expect((await other.attempt(() => 1, { key: 'a', attributes: lookup })).ok).toBe(false);
    expect((await other.attempt(() => 1, { key: 'c', attributes: lookup })).ok).toBe(true);
  });

  test('many keys come and go', async () => {
    const clock = virtualClock();
    const p = pipeline([{ bulkhead: { concurrent: 1, per: 'key' } }], { clock });
    for (let i = 0; i < 100_000; i++)
      if (!(await p.attempt(() => 1, { key: `k${i}` })).ok) throw new Error(`${i}`);
  }, 120_000);

  test('another policy keeps states by name', async () => {
    const clock = virtualClock();
    const p = pipeline([{ limit: '2/1h' }], { clock });
    await p.execute(() => 1);
    p.configure([{ limit: '1/1h' }, { timeout: '1s' }]);
    await p.execute(() => 1);
    expect((await p.attempt(() => 1)).ok).toBe(false);
    expect(() => p.configure([{ limit: 'x' as never }])).toThrow(PolicyError);
    expect(p.policy.steps).toHaveLength(2);
  });

  test('fallbacks replace refusals, cuts and failures', async () => {
    const clock = virtualClock();
    const p = policy(
      { steps: [{ limit: '1/1h' }], fallback: {} },
      { clock, fallback: (e) => (e as Error).message },
    );
    expect(await p.execute(() => Promise.reject(new Error('down')))).toBe('down');
    expect(await p.attempt(() => 1)).toEqual({ ok: true, value: 'limit: rejected: rate' });
    const cut = policy({ steps: [{ timeout: '1s' }], fallback: {} }, { clock, fallback: () => 'late' });
    const result = cut.execute(never);
    await clock.advance(1000);
    expect(await result).toBe('late');
    const broken = policy(
      { steps: [{ timeout: '1s' }], fallback: {} },
      {
        clock,
        fallback: () => {
          throw new Error('mine');
        },
      },
    );
    await expect(broken.execute(() => Promise.reject(new Error('down')))).rejects.toThrow('mine');
  });

  test('permits that a limit does not take are told', async () => {
    const p = pipeline([{ limit: { rate: '4/1h', charge: 'settle' } }], { clock: virtualClock() });
    const told: unknown[] = [];
    p.on('clamped', ({ step, dropped }) => told.push([step, dropped]));
    await p.execute(({ used }) => used(100));
    expect(told).toEqual([['limit', 95]]);
  });

  test('shadow steps emit and enforce nothing', async () => {
    const clock = virtualClock();
    const p = pipeline([{ limit: { rate: '1/1h', shadow: true } }], { clock });
    const heard: Decision[] = [];
    p.on('reject', (decision) => heard.push(decision));
    expect([await p.execute(() => 1), await p.execute(() => 2)]).toEqual([1, 2]);
    expect(heard).toMatchObject([{ step: 'limit', reason: 'rate', shadow: true, retryAfter: 3_600_000 }]);
  });

  test('a listener may call back into the pipeline', async () => {
    const clock = virtualClock();
    const p = pipeline([{ bulkhead: { concurrent: 1, queue: 3 } }], { clock });
    const nested: Promise<unknown>[] = [];
    const stop = p.on('admit', () => {
      if (nested.length < 2) nested.push(p.attempt(() => 'nested'));
    });
    expect(await p.execute(() => 'outer')).toBe('outer');
    stop();
    expect(await Promise.all(nested)).toEqual([
      { ok: true, value: 'nested' },
      { ok: true, value: 'nested' },
    ]);
  });

  test('leases are renewed from inside', async () => {
    const clock = virtualClock();
    const p = pipeline([{ bulkhead: { concurrent: 1, lease: '1s' } }], { clock });
    const lapsed: number[] = [];
    p.on('lapse', ({ at }) => lapsed.push(at));
    void p.execute(async (attempt) => {
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 900));
      attempt.renew();
      return never();
    });
    await clock.advance(5000);
    expect(lapsed).toEqual([1900]);
  });

  test('a slot is used again in the call that ends another one', async () => {
    const clock = virtualClock();
    const p = pipeline([{ timeout: '1s' }], { clock });
    const first = p.attempt(never);
    const now = clock.now;
    // The timer is late: the call that begins is what cuts the first one.
    clock.now = () => 1000;
    const second = p.attempt(() => 'second');
    expect(await first).toMatchObject({ reason: 'timeout' });
    expect(await second).toEqual({ ok: true, value: 'second' });
    clock.now = now;
  });

  test('an end that comes at the mark of the cut is too late', async () => {
    const clock = virtualClock();
    const discarded: unknown[] = [];
    const p = pipeline([{ timeout: '1s' }], { clock, discard: (value) => discarded.push(value) });
    const now = clock.now;
    const result = p.attempt(async () => {
      clock.now = () => 1000;
      return 'late';
    });
    expect(await result).toMatchObject({ reason: 'timeout' });
    expect(discarded).toEqual(['late']);
    clock.now = now;
  });
});

describe('policy', () => {
  const document = {
    version: 1,
    policies: { a: { steps: [{ limit: '1/1h' }] }, b: { steps: [{ timeout: '1s' }] } },
  } as const;

  test('chooses by name, from an object or JSON', async () => {
    expect(policy(document, 'b').policy.steps).toEqual([{ timeout: '1s' }]);
    const a = policy(JSON.stringify(document), { name: 'a', clock: virtualClock() });
    await a.execute(() => 1);
    expect((await a.attempt(() => 1)).ok).toBe(false);
  });

  test.each([
    [document, undefined],
    [document, 'c'],
    ['{', undefined],
    [null, undefined],
    [{ version: 1, policies: {} }, undefined],
    [{ steps: [] }, undefined],
    [{ steps: [{ limit: '50' }] }, undefined],
    ['{"steps":[{"limit":"1/s","limit":"2/s"}]}', undefined],
  ])('%j %s is an error', (source, name) => {
    expect(() => policy(source as never, name)).toThrow(PolicyError);
  });
});

test('a listener of ends may begin a call, which takes the slot of the one that ended', async () => {
  const clock = virtualClock();
  const calls = pipeline([{ timeout: '1s' }, { bulkhead: 1 }], { clock });
  const later: Promise<unknown>[] = [];
  const stop = calls.on('end', () => {
    stop();
    later.push(calls.attempt(() => new Promise(() => {})));
  });
  expect(await calls.execute(() => 'first')).toBe('first');
  expect(calls.running).toBe(1);
  expect(await calls.attempt(() => 'second')).toMatchObject({ ok: false, step: 'bulkhead' });
  await clock.advance(1000);
  expect(await Promise.all(later)).toMatchObject([{ ok: false, reason: 'timeout' }]);
  expect(calls.running).toBe(0);
});

describe('an admission by hand', () => {
  const obeys = { breaker: { window: { calls: 10 }, obey_retry_after: '1m' } } as const;
  const later = { retryAfter: 20_000 };

  test('opens a breaker by the retryAfter of its error', () => {
    const rows = [
      ['failure', later, 20_000],
      ['throttle', later, 20_000],
      ['failure', { retryAfter: 3_600_000 }, 60_000],
      ['failure', { retryAfter: -1 }, undefined],
      ['failure', { retryAfter: 'soon' }, undefined],
      ['failure', undefined, undefined],
      ['throttle', undefined, undefined],
    ] as const;
    for (const [end, error, open] of rows) {
      const p = pipeline([obeys, { timeout: '5s' }], { clock: virtualClock() });
      const pass = p.tryAcquire();
      if (pass.ok) pass[end](error);
      if (open === undefined) expect(p.tryAcquire().ok, `${end} ${String(error)}`).toBe(true);
      else expect(p.tryAcquire()).toMatchObject({ step: 'breaker', reason: 'open', retryAfter: open });
    }
    const deaf = pipeline([{ breaker: { window: { calls: 10 } } }], { clock: virtualClock() });
    const pass = deaf.tryAcquire();
    if (pass.ok) pass.failure(later);
    expect(deaf.tryAcquire().ok).toBe(true);
  });

  test('is one attempt beside a retry, whatever its error says', async () => {
    const clock = virtualClock();
    const p = pipeline([{ retry: { attempts: 3 } }, obeys, { bulkhead: 1 }], { clock });
    const heard: string[] = [];
    p.on(({ kind }) => heard.push(kind));
    const pass = await p.acquire();
    if (pass.ok) pass.failure(later);
    await clock.advance(60_000);
    expect(heard).toEqual(['admit', 'end']);
    expect(p.tryAcquire().ok).toBe(true);
  });
});
