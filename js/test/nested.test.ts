import { describe, expect, test, vi } from 'vitest';
import {
  bulkhead,
  circuitBreaker,
  pipeline,
  policies,
  policy,
  RejectedError,
  rateLimiter,
  resilientFetch,
  retry,
  timeout,
  wrap,
} from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

/** Marks at which a guarded function ran, and how the call ended. */
function runs(call: (task: () => number) => Promise<unknown>, at: () => number) {
  const marks: number[] = [];
  const end: { value?: unknown } = {};
  const over = call(() => marks.push(at())).then(
    (value) => {
      end.value = value;
    },
    (error) => {
      end.value = error;
    },
  );
  return { marks, end, over };
}

describe('a retry waits for the refusal of what is inside', () => {
  const twice = { attempts: 2, backoff: 'none' } as const;

  test.each(['limiter', 'breaker', 'pipeline', 'wrap', 'retry alone'])('%s', async (inner) => {
    const clock = virtualClock();
    const outer = pipeline([{ retry: twice }], { clock });
    const limit = rateLimiter({ rate: '1/10s', clock });
    const breaker = circuitBreaker({ window: { consecutive: 1 }, open: '10s', clock });
    const steps = pipeline([{ limit: '1/10s' }], { clock });
    limit.tryAcquire();
    await steps.execute(() => 0);
    await breaker.execute(() => Promise.reject(new Error('down'))).catch(() => 0);
    const call = {
      limiter: (task: () => number) => outer.execute(() => limit.execute(task)),
      breaker: (task: () => number) => outer.execute(() => breaker.execute(task)),
      pipeline: (task: () => number) => outer.execute(() => steps.execute(task)),
      wrap: (task: () => number) => wrap(outer, limit).execute(task),
      'retry alone': (task: () => number) => retry({ ...twice, clock }).execute(() => limit.execute(task)),
    }[inner] as (task: () => number) => Promise<unknown>;
    const { marks, end, over } = runs(call, clock.now);
    await clock.advance(9_999);
    expect(marks).toEqual([]);
    await clock.advance(1);
    await over;
    expect([marks, end.value]).toEqual([[10_000], 1]);
  });

  test('where waiting does not help there is one attempt', async () => {
    const clock = virtualClock();
    const outer = pipeline([{ retry: twice }], { clock });
    const ends: unknown[] = [];
    outer.on('end', ({ attempt, outcome, reason }) => ends.push([attempt, outcome, reason]));
    const denies = policy({ deny: { key: 'a' }, steps: [{ limit: '1/10s' }] }, { clock });
    const inner = {
      capacity: () => rateLimiter({ rate: '1/10s', clock }).execute(() => 0, { cost: 2 }),
      denied: () => denies.execute(() => 0, { key: 'a' }),
      missing: () =>
        pipeline([{ limit: { rate: '1/10s', per: 'key', missing: 'deny' } }], { clock }).execute(() => 0),
      stopped: () => gone.execute(() => 0),
    };
    const gone = pipeline([{ limit: '1/10s' }], { clock });
    await gone.stop();
    for (const call of Object.values(inner)) {
      await expect(outer.execute(call)).rejects.toThrow(RejectedError);
    }
    expect(ends).toEqual(Object.values(inner).map(() => [1, 'throttle', 'pushback']));
  });

  test('functions of the user are asked first', async () => {
    const clock = virtualClock();
    const limit = rateLimiter({ rate: '1/10s', clock });
    limit.tryAcquire();
    const ends: unknown[] = [];
    const run = async (options: object): Promise<void> => {
      const outer = pipeline([{ retry: twice }], { clock, ...options });
      outer.on(({ kind, outcome, reason, delay }) => ends.push([kind, outcome ?? reason, delay]));
      const over = outer.execute(() => limit.execute(() => 0)).catch(() => 0);
      await clock.advance(10);
      await over;
    };
    await run({ outcome: () => 'ignore' });
    await run({ retryAfter: () => 5 });
    expect(ends).toEqual([
      ['admit', undefined, undefined],
      ['end', 'ignore', undefined],
      ['admit', undefined, undefined],
      ['retry', 'throttle', 5],
      ['admit', undefined, undefined],
      ['end', 'throttle', undefined],
    ]);
    ends.length = 0;
    const outer = pipeline([{ retry: twice }], { clock, retryAfter: () => undefined });
    outer.on('retry', ({ delay }) => ends.push(delay));
    const over = outer.execute(() => limit.execute(() => 0));
    await clock.advance(20_000);
    expect([await over, ends]).toEqual([0, [9_980]]);
  });

  test('a breaker gets no vote for it, and a timeout inside is a failure', async () => {
    const clock = virtualClock();
    const full = bulkhead({ concurrent: 1, clock });
    expect(full.tryAcquire().ok).toBe(true);
    const breaker = circuitBreaker({ window: { consecutive: 1 }, clock });
    await expect(breaker.execute(() => full.execute(() => 0))).rejects.toThrow(RejectedError);
    expect(breaker.state).toBe('closed');
    const cut = breaker
      .execute(() => timeout({ after: '1s', clock }).execute(() => new Promise(() => {})))
      .catch(() => 0);
    await clock.advance(1_000);
    await cut;
    expect(breaker.state).toBe('open');
  });

  test('also of a fetch in a fetch', async () => {
    const clock = virtualClock();
    const answer = vi.fn(async () => new Response('ok'));
    const inner = resilientFetch([{ limit: '1/10s' }], { clock, fetch: answer as never });
    const outer = resilientFetch([{ retry: twice }], { clock, fetch: inner as never });
    expect((await outer('https://a.example/')).status).toBe(200);
    const second = outer('https://a.example/');
    await clock.advance(9_999);
    expect(answer).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect((await second).status).toBe(200);
    expect(answer).toHaveBeenCalledTimes(2);
  });
});

test('what a mechanism inside holds is free when the policy around it cuts the call', async () => {
  const clock = virtualClock();
  const outer = pipeline([{ timeout: { after: '1s' } }, { bulkhead: { concurrent: 1, queue: 1 } }], {
    clock,
  });
  const inner = bulkhead({ concurrent: 1, clock });
  const breaker = circuitBreaker({ window: { consecutive: 1 }, clock });
  const run = (task: () => unknown): Promise<unknown> =>
    outer.execute(({ signal }) => breaker.execute(() => inner.execute(task, { signal }), { signal }));
  const first = run(() => new Promise(() => {}));
  await clock.advance(500);
  const second = run(() => 2);
  await Promise.all([clock.advance(500), expect(first).rejects.toThrow('timed out')]);
  expect(await second).toBe(2);
  expect([inner.counts.running, breaker.state]).toEqual([0, 'closed']);
});

describe('a fallback of the program', () => {
  const steps = [{ limit: '1/1h' }] as const;
  const options = { fallback: (error: unknown) => (error as Error).message };
  const document = { version: 1, policies: { a: { steps } } } as const;

  test.each([
    ['pipeline', () => pipeline(steps, options)],
    ['policy', () => policy({ steps }, options)],
    ['policies', () => policies(document, options).a as ReturnType<typeof pipeline>],
    [
      'configure',
      () => {
        const calls = pipeline([{ limit: '2/1h' }], options);
        calls.configure(document);
        return calls;
      },
    ],
  ])('is used without one of the policy: %s', async (_, make) => {
    const calls = make();
    const covered: unknown[] = [];
    calls.on(({ kind, fallback }) => covered.push([kind, fallback]));
    expect(await calls.execute(() => Promise.reject(new Error('down')))).toBe('down');
    expect(await calls.attempt(() => 1)).toEqual({ ok: true, value: 'limit: rejected: rate' });
    expect(covered).toEqual([
      ['admit', undefined],
      ['end', true],
      ['reject', true],
    ]);
    expect(calls.policy).toEqual({ steps });
  });

  test('replaces neither what is ignored nor what is denied', async () => {
    const calls = policy(
      { deny: { key: 'a' }, steps: [{ retry: 2 }] },
      { ...options, outcome: () => 'ignore' },
    );
    await expect(calls.execute(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
    await expect(calls.execute(() => 1, { key: 'a' })).rejects.toThrow(RejectedError);
  });
});
