// What the package does with the functions, listeners, signals and mistakes of its users.

import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  bulkhead,
  circuitBreaker,
  PolicyError,
  pipeline,
  policy,
  RejectedError,
  rateLimiter,
  resilientFetch,
  retry,
  TimeoutError,
  timeout,
} from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

afterEach(() => vi.restoreAllMocks());

/** The message of what a function throws or rejects with. */
async function messageOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return 'nothing';
}

// biome-ignore lint/suspicious/noExplicitAny: values that the types refuse.
const any = (value: unknown): any => value;
const never = (): Promise<never> => new Promise(() => {});

describe('memory', () => {
  test('a policy made in each call takes no memory', async () => {
    for (let i = 0; i < 60_000; i++) await timeout('1s').execute(() => i);
    for (let i = 0; i < 30_000; i++) await pipeline([{ retry: 3 }, { timeout: '1s' }]).execute(() => i);
    for (let i = 0; i < 10_000; i++) await retry(3).execute(() => i, {});
    const get = async (): Promise<Response> => new Response('');
    for (let i = 0; i < 1_000; i++) {
      await resilientFetch([{ retry: 3 }, { timeout: '1s' }], { fetch: get })('https://example.com/');
    }
  });

  test('equal plans that run at the same time do not disturb each other', async () => {
    const clock = virtualClock();
    const make = (): ReturnType<typeof timeout> => timeout({ after: '1s', clock });
    const [slow, quick] = [make().attempt(never), make().attempt(() => 'quick')];
    await clock.advance(1_000);
    expect(await quick).toEqual({ ok: true, value: 'quick' });
    expect(await slow).toMatchObject({ ok: false, reason: 'timeout' });

    const all = Array.from({ length: 100 }, (_, i) => timeout('1h').execute(async () => i));
    expect(await Promise.all(all)).toEqual(all.map((_, i) => i));
  });

  test('a policy that was taken back from others is configured alone', async () => {
    const one = pipeline([{ timeout: '1h' }]);
    const other = pipeline([{ timeout: '1h' }]);
    await one.execute(() => 1);
    one.configure([{ bulkhead: 1 }]);
    void one.execute(never);
    expect(await one.attempt(() => 1)).toMatchObject({ ok: false, step: 'bulkhead' });
    void other.execute(never);
    expect(await other.attempt(() => 1)).toEqual({ ok: true, value: 1 });
  });

  test('objects that are disposed give their memory back', async () => {
    for (let i = 0; i < 100_000; i++) {
      const breaker = circuitBreaker({ window: { calls: 1_000 } });
      breaker.dispose();
      const calls = pipeline([{ breaker: {} }, { bulkhead: 1 }]);
      calls.dispose();
    }
  });

  test('dispose ends waits, refuses later calls and lets what was admitted end', async () => {
    const places = bulkhead({ concurrent: 1, queue: 5 });
    const permit = await places.acquire();
    const waits = messageOf(() => places.acquire());
    places[Symbol.dispose]();
    expect(await waits).toMatch(/^PolicyError: found a disposed object/);
    if (permit.ok) permit.release();
    expect(await messageOf(() => places.tryAcquire())).toMatch(/^PolicyError/);
    places.dispose();

    const calls = pipeline([{ bulkhead: 1 }]);
    let end!: (value: number) => void;
    const running = calls.execute(() => new Promise<number>((resolve) => (end = resolve)));
    calls.dispose();
    expect(await messageOf(() => calls.execute(() => 1))).toMatch(/^PolicyError: found a disposed object/);
    end(7);
    expect(await running).toBe(7);

    const keyed = rateLimiter.keyed('1/1h');
    keyed.tryAcquire('a');
    keyed.dispose();
    expect(await messageOf(() => keyed.tryAcquire('a'))).toMatch(/^PolicyError/);
    const alone = timeout('1s');
    alone.dispose();
    expect(await messageOf(() => alone.execute(() => 1))).toMatch(/^PolicyError: found a disposed object/);
  });
});

describe('functions of users', () => {
  test('an async fallback is awaited, its error is the error of the call', async () => {
    const steps = { steps: [{ breaker: {} }], fallback: {} };
    const down = (): never => {
      throw new Error('down');
    };
    const good = policy(steps, { fallback: async () => 'instead' });
    expect(await good.attempt(down)).toEqual({ ok: true, value: 'instead' });
    expect(await good.execute(down)).toBe('instead');
    const bad = policy(steps, { fallback: () => Promise.reject(new Error('worse')) });
    expect(await messageOf(() => bad.attempt(down))).toBe('Error: worse');
    const throwing = policy(steps, {
      fallback: () => {
        throw new Error('worse');
      },
    });
    expect(await messageOf(() => throwing.attempt(down))).toBe('Error: worse');
  });

  test('a listener that rejects is printed once and disturbs no call', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    const limiter = rateLimiter('10/1h');
    const heard: string[] = [];
    limiter.on(async () => {
      throw new Error('mine');
    });
    limiter.on(({ kind }) => heard.push(kind));
    limiter.tryAcquire();
    limiter.tryAcquire();
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toEqual(['admit', 'admit']);
    expect(print).toHaveBeenCalledTimes(1);
    expect(print.mock.calls[0]?.[1]).toEqual(new Error('mine'));
  });

  test('a discard that rejects is printed once', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    const calls = pipeline([{ retry: { attempts: 3, backoff: 'none' } }], {
      outcome: () => 'fail',
      discard: () => Promise.reject(new Error('mine')),
    });
    expect(await calls.execute(() => 1)).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(print).toHaveBeenCalledTimes(1);
  });

  test('listeners added or removed by a listener take effect with the next decision', () => {
    const limiter = rateLimiter('10/1h');
    const heard: string[] = [];
    const stop = limiter.on(() => {
      heard.push('first');
      stop();
      limiter.on(() => heard.push('second'));
    });
    limiter.tryAcquire();
    limiter.tryAcquire();
    expect(heard).toEqual(['first', 'second']);
  });
});

describe('an aborted signal', () => {
  const mechanisms = {
    limiter: () => rateLimiter('10/1h'),
    breaker: () => circuitBreaker(),
    bulkhead: () => bulkhead(1),
    retry: () => retry(2),
    timeout: () => timeout('1h'),
    pipeline: () => pipeline([{ bulkhead: 1 }]),
  };

  test.for(Object.entries(mechanisms))('ends a call of a %s while its function runs', async ([, make]) => {
    const controller = new AbortController();
    const call = make().execute(never, { signal: controller.signal });
    await Promise.resolve();
    controller.abort('enough');
    await expect(call).rejects.toBe('enough');
  });

  test('frees the place, and a breaker does not count the call', async () => {
    const controller = new AbortController();
    const places = bulkhead(1);
    const breaker = circuitBreaker({ window: { consecutive: 1 } });
    const { signal } = controller;
    const calls = [places.execute(never, { signal }), breaker.execute(never, { signal })];
    controller.abort('enough');
    await Promise.allSettled(calls);
    expect(places.tryAcquire().ok).toBe(true);
    expect(breaker.state).toBe('closed');
  });

  test('tryAcquire throws its reason and takes nothing', () => {
    const signal = AbortSignal.abort('enough');
    for (const one of [rateLimiter('1/1h'), circuitBreaker({ probes: 1 }), bulkhead(1)]) {
      expect(() => one.tryAcquire({ signal })).toThrow('enough');
      expect(one.tryAcquire().ok).toBe(true);
    }
    expect(() => rateLimiter.keyed('1/1h').tryAcquire('a', { signal })).toThrow('enough');
  });

  test.for(Object.entries(mechanisms))('in a listener of a %s stops the task', async ([, make]) => {
    const controller = new AbortController();
    const one = make();
    one.on('admit', () => controller.abort('enough'));
    const task = vi.fn(() => 1);
    const call = one.execute(task, { signal: controller.signal });
    const end = await call.then(
      () => 'done',
      (reason) => reason,
    );
    expect([end, task.mock.calls.length]).toEqual(['enough', 0]);
  });
});

describe('mistakes', () => {
  const calls = pipeline([{ limit: { rate: '10/1h', per: 'key' } }]);
  const limiter = rateLimiter('10/1h');
  const keyed = rateLimiter.keyed('10/1h');
  const breaker = circuitBreaker();
  const circle = { rate: {} };
  circle.rate = circle;

  test.for<[string, () => unknown, string]>([
    ['circuitBreaker(f)', () => circuitBreaker(any(() => 1)), 'breaker: found a function; '],
    ['on("open", f)', () => breaker.on(any('open'), () => {}), 'on: found "open"; allowed admit, '],
    ['on("change", 5)', () => breaker.on('change', any(5)), 'on: found 5; allowed a function'],
    ['on(undefined)', () => breaker.on(any(undefined)), 'on: found nothing; allowed a function'],
    [
      '{ outcome: "x" }',
      () => circuitBreaker({ outcome: any('x') }),
      'breaker.outcome: found "x"; allowed a function',
    ],
    [
      'retry { outcome: "x" }',
      () => retry({ outcome: any('x') }),
      'retry.outcome: found "x"; allowed a function',
    ],
    [
      'retry { retryAfter: 5 }',
      () => retry({ retryAfter: any(5) }),
      'retry.retryAfter: found 5; allowed a function',
    ],
    [
      'an option of a pipeline',
      () => pipeline([], any({ clok: 1 })),
      'pipeline: found the unknown name "clok"; allowed name, ',
    ],
    [
      'an option of a policy',
      () => policy({ steps: [] }, any({ fallbck: 1 })),
      'policy: found the unknown name "fallbck"; ',
    ],
    [
      'an option of resilientFetch',
      () => resilientFetch([{ retry: 3 }], any({ ky: 1 })),
      'resilientFetch: found the unknown name "ky"; ',
    ],
    [
      'a fetch',
      () => resilientFetch([{ retry: 3 }], { fetch: any('x') }),
      'resilientFetch.fetch: found "x"; allowed a function',
    ],
    ['options that are a number', () => pipeline([], any(5)), 'pipeline: found 5; allowed an object with '],
    [
      'a function in a step',
      () => pipeline([{ retry: any({ outcome: () => 'ok' }) }]),
      'steps[0].retry.outcome: found the unknown name "outcome"; ',
    ],
    [
      'tryAcquire(5)',
      () => limiter.tryAcquire(any(5)),
      'options: found 5; allowed an object with signal, cost',
    ],
    [
      '{ weight: 5 }',
      () => limiter.tryAcquire(any({ weight: 5 })),
      'options: found the unknown name "weight"; allowed signal, cost',
    ],
    [
      'a cost of a breaker',
      () => breaker.tryAcquire(any({ cost: 5 })),
      'options: found the unknown name "cost"; allowed signal',
    ],
    [
      '{ kye }',
      () => calls.execute(() => 1, any({ kye: 'a' })),
      'options: found the unknown name "kye"; allowed signal, cost, key, ',
    ],
    [
      'a key that is a BigInt',
      () => calls.execute(() => 1, any({ key: 5n })),
      'key: found 5; allowed a string',
    ],
    [
      'a key that is an object',
      () => calls.execute(() => 1, any({ key: {} })),
      'key: found an object; allowed a string',
    ],
    ['no key', () => keyed.tryAcquire(any(undefined)), 'key: found nothing; allowed a string'],
    ['a key that is a list', () => keyed.peek(any([])), 'key: found a list; allowed a string'],
    ['execute without a key', () => keyed.execute(() => 1, any({})), 'key: found nothing; allowed a string'],
    [
      'a key beside the options',
      () => keyed.execute(() => 1, any('a')),
      'options: found "a"; allowed an object with ',
    ],
    ['a task', () => limiter.execute(any(5)), 'task: found 5; allowed a function'],
    ['a task of a pipeline', () => calls.attempt(any(undefined)), 'task: found nothing; allowed a function'],
    ['a signal', () => limiter.acquire({ signal: any('x') }), 'signal: found "x"; allowed an AbortSignal'],
    [
      'a deadline',
      () => calls.execute(() => 1, { deadline: any('5s') }),
      'deadline: found "5s"; allowed a number of milliseconds',
    ],
    ['a deadline of NaN', () => calls.execute(() => 1, { deadline: Number.NaN }), 'deadline: found NaN; '],
    ['hedge', () => calls.execute(() => 1, { hedge: any('no') }), 'hedge: found "no"; allowed true or false'],
    ['attributes', () => calls.execute(() => 1, { attributes: any('x') }), 'attributes: found "x"; '],
    ['NaN', () => rateLimiter({ rate: '1/1s', burst: Number.NaN }), 'limit.burst: found NaN; '],
    [
      'Infinity',
      () => bulkhead({ concurrent: Number.POSITIVE_INFINITY }),
      'bulkhead.concurrent: found Infinity; ',
    ],
    ['NaN in a step', () => pipeline([{ retry: Number.NaN }]), 'steps[0].retry: found NaN; '],
    ['timeout()', () => timeout(any(undefined)), 'timeout.after: found nothing; '],
    ['timeout(null)', () => timeout(any(null)), 'timeout'],
    [
      'clock: {}',
      () => rateLimiter({ rate: '1/1s', clock: any({}) }),
      'limit.clock: found an object; allowed an object with now, ',
    ],
    ['a clock of a timeout', () => timeout({ after: '1s', clock: any(5) }), 'timeout.clock: found 5; '],
    ['a clock of a pipeline', () => pipeline([], { clock: any({}) }), 'pipeline.clock: found an object; '],
    ['retry(0)', () => retry(0), 'retry: found the number 0; '],
    ['retry({ attempts: 0 })', () => retry({ attempts: 0 }), 'retry.attempts: found the number 0; '],
    ['a circle', () => rateLimiter(any(circle)), 'limit.rate: found a map; '],
  ])('%s', async ([, call, message]) => {
    expect(await messageOf(call)).toContain(`PolicyError: ${message}`);
  });

  test('attributes that are no strings, and tasks that are no functions', async () => {
    const calls = pipeline([{ limit: { rate: '1/1h', per: 'header:x-tenant' } }]);
    const wrong = /PolicyError: attributes.header:x-tenant: found 5; allowed a string/;
    for (const attributes of [{ 'header:x-tenant': 5 as never }, () => 5 as never]) {
      expect(await messageOf(() => calls.execute(() => 1, { attributes }))).toMatch(wrong);
    }
    expect(await calls.execute(() => 1, { attributes: { 'header:x-tenant': 'a' } })).toBe(1);
    for (const one of [calls, retry(2), timeout('1s'), rateLimiter('5/1s'), circuitBreaker(), bulkhead(1)]) {
      const given = one.execute(undefined as never);
      expect(await messageOf(() => given)).toBe('PolicyError: task: found nothing; allowed a function');
    }
    expect(await messageOf(() => rateLimiter.keyed('5/1s').execute(() => 1, undefined as never))).toBe(
      'PolicyError: options: found nothing; allowed an object with signal, cost, key',
    );
  });

  test('a wrong key takes no permit, with a listener too', async () => {
    const one = pipeline([{ limit: { rate: '1/1h', per: 'key' } }]);
    one.on(() => {});
    expect(await messageOf(() => one.execute(() => 1, any({ key: 1n })))).toContain('key: found 1');
    expect(await one.attempt(() => 1, { key: '1' })).toEqual({ ok: true, value: 1 });
  });
});

describe('what is shown', () => {
  test('console.log shows the state', async () => {
    const limiter = rateLimiter('10/1h');
    limiter.tryAcquire();
    expect(inspect(limiter)).toBe("RateLimiter { name: 'limit', free: 9 }");
    const places = bulkhead({ concurrent: 3, name: 'db' });
    await places.acquire();
    expect(inspect(places)).toBe("Bulkhead { name: 'db', running: 1, queued: 0, free: 2 }");
    expect(inspect(circuitBreaker())).toBe("CircuitBreaker { name: 'breaker', state: 'closed' }");
    const keyed = rateLimiter.keyed('10/1h');
    keyed.tryAcquire('a');
    expect(inspect(keyed)).toBe(
      "KeyedRateLimiter { name: 'limit', keys: 1, evictions: 0, shared: 0, unblocked: 0 }",
    );
    const calls = pipeline([{ retry: 3 }, { timeout: '1s' }]);
    expect(inspect(calls)).toBe("Pipeline { steps: [ 'retry', 'timeout' ], running: 0 }");
  });

  test('console.log shows what was admitted', () => {
    const permit = bulkhead(1).tryAcquire();
    const pass = circuitBreaker().tryAcquire();
    expect(inspect(permit)).toBe('Permit { ok: true, released: false }');
    expect(inspect(pass)).toBe('BreakerPass { ok: true, ended: false }');
    if (permit.ok) permit.release();
    if (pass.ok) pass.ignore();
    expect(inspect(permit)).toBe('Permit { ok: true, released: true }');
    expect(inspect(pass)).toBe('BreakerPass { ok: true, ended: true }');
  });

  test('the stack of a mistake has the line of the caller', () => {
    const mistaken = (): unknown => rateLimiter('often' as '1/1s');
    expect(() => mistaken()).toThrow(
      expect.objectContaining({
        stack: expect.stringMatching(/^PolicyError: limit: found[\s\S]*at mistaken /),
      }),
    );
  });

  test('a refusal has a stack on request', async () => {
    const stackOf = async (call: () => Promise<unknown>): Promise<string | undefined> =>
      call().then(
        () => 'nothing',
        (error: RejectedError) => error.stack,
      );
    const full = { concurrent: 1, stack: true };
    for (const [one, lines] of [
      [bulkhead(full), true],
      [bulkhead(1), false],
      [pipeline([{ bulkhead: 1 }], { stack: true }), true],
      [pipeline([{ bulkhead: 1 }]), false],
    ] as const) {
      void one.execute(never);
      expect((await stackOf(() => one.execute(never)))?.includes('\n')).toBe(lines);
    }
    expect(await messageOf(() => bulkhead({ concurrent: 1, stack: any(5) }))).toContain(
      'bulkhead.stack: found 5',
    );
  });

  test('an error of another copy of the package is an instance', () => {
    class Other extends Error {
      override readonly name = 'RejectedError';
    }
    Object.defineProperty(Other.prototype, Symbol.for('@sluice/core RejectedError'), { value: true });
    expect(new Other() instanceof RejectedError).toBe(true);
    expect(new Other() instanceof TimeoutError).toBe(false);
    expect(new Error('x') instanceof PolicyError).toBe(false);
    expect(any(undefined) instanceof RejectedError).toBe(false);
    class Mine extends RejectedError {}
    expect(new RejectedError({ ok: false, step: 'a', reason: 'rate', retryAfter: 1 }) instanceof Mine).toBe(
      false,
    );
    expect(new DOMException('x', 'TimeoutError') instanceof TimeoutError).toBe(false);
  });
});
