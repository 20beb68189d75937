import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type Decision,
  InjectedError,
  type PipelineOptions,
  pipeline,
  RejectedError,
  resilientFetch,
  type Step,
  TimeoutError,
} from '../src/index.js';
import { evaluate } from '../src/testing/evaluate.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

// Pipelines draw their seeds by Math.random: here the same ones in every run.
beforeEach(() => {
  let state = 1;
  vi.spyOn(Math, 'random').mockImplementation(() => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** A pipeline with what it decides, a line each. */
function watched(steps: readonly Step[], options: PipelineOptions = {}) {
  const clock = virtualClock();
  const calls = pipeline(steps, { clock, ...options });
  const heard: Decision[] = [];
  calls.on((decision) => heard.push(decision));
  const log = () =>
    heard
      .splice(0)
      .map(({ at, kind, attempt, outcome, until, retryAfter, shadow }) =>
        [
          at,
          kind,
          attempt,
          outcome,
          until !== undefined && `until ${until}`,
          retryAfter !== undefined && `after ${retryAfter}`,
          shadow && 'shadow',
        ]
          .filter((word) => word !== undefined && word !== false)
          .join(' '),
      );
  return { clock, calls, log };
}

const always = (outcome: object): Step => ({ chaos: { ...outcome } }) as Step;
const settled = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((error: unknown) => error);

test('an injected failure is retried and votes, and the function does not run', async () => {
  const { clock, calls, log } = watched([
    { retry: { attempts: 2, backoff: { constant: '1s' }, jitter: 'none' } },
    { breaker: { window: { consecutive: 2 }, open: '1m' } },
    { bulkhead: 1 },
    { chaos: { fail: '100%', name: 'drill' } },
  ]);
  let runs = 0;
  const result = settled(calls.execute(() => runs++));
  await clock.advance(1000);
  const error = (await result) as InjectedError;
  expect(error).toBeInstanceOf(InjectedError);
  expect([error.name, error.step, error.outcome, error.retryAfter, error.message]).toEqual([
    'InjectedError',
    'drill',
    'fail',
    undefined,
    'drill: injected: fail',
  ]);
  expect(runs).toBe(0);
  expect(log()).toEqual([
    '0 admit 1',
    '0 inject 1 fail',
    '0 retry 1 until 1000',
    '1000 admit 2',
    '1000 inject 2 fail',
    '1000 change',
    '1000 end 2 fail',
  ]);
  expect(await settled(calls.execute(() => 1))).toBeInstanceOf(RejectedError);
  expect(calls.running).toBe(0);
});

test('the function starts after injected latency, in which the place is held', async () => {
  const { clock, calls, log } = watched([
    { bulkhead: 1 },
    { timeout: '3s' },
    { chaos: { slow: { rate: '100%', by: '2s' } } },
  ]);
  let started: number | undefined;
  const result = calls.execute(() => {
    started = clock.now();
    return 'value';
  });
  await clock.advance(1000);
  expect(await settled(calls.execute(() => 1))).toBeInstanceOf(RejectedError);
  expect(started).toBe(undefined);
  await clock.advance(1000);
  expect(started).toBe(2000);
  expect(await result).toBe('value');
  expect(log()).toEqual([
    '0 admit 1',
    '0 inject 1 until 2000',
    '1000 reject',
    '2000 start 1',
    '2000 end 1 ok',
  ]);
});

test('a timeout cuts an attempt in its latency, and a caller may cancel it', async () => {
  const { clock, calls } = watched([
    { timeout: '1s' },
    { chaos: { fail: '100%', slow: { rate: '100%', by: '2s' } } },
  ]);
  let runs = 0;
  const cut = settled(calls.execute(() => runs++));
  await clock.advance(1000);
  expect(await cut).toBeInstanceOf(TimeoutError);
  const stop = new AbortController();
  const cancelled = settled(calls.execute(() => runs++, { signal: stop.signal }));
  await clock.advance(500);
  stop.abort('enough');
  expect(await cancelled).toBe('enough');
  await clock.advance(5000);
  expect([runs, clock.timers, calls.running]).toEqual([0, 0, 0]);
});

test('a success after an injected failure is the result, and a value before one is discarded', async () => {
  const discarded: unknown[] = [];
  const { clock, calls } = watched(
    [{ retry: { attempts: 4, backoff: { constant: '1ms' }, jitter: 'none' } }, { chaos: { fail: '50%' } }],
    {
      outcome: (error, value) => (error === undefined && value !== 'good' ? 'fail' : error ? 'fail' : 'ok'),
      discard: (v) => discarded.push(v),
    },
  );
  let [good, bad, injected] = [0, 0, 0];
  for (let i = 0; i < 60; i++) {
    let runs = 0;
    const result = settled(calls.execute(() => (++runs === 2 ? 'good' : 'bad')));
    await clock.advance(10);
    const value = await result;
    if (value === 'good') good++;
    else if (value instanceof InjectedError) injected++;
    else {
      expect(value).toBe('bad');
      bad++;
    }
  }
  expect(Math.min(good, bad, injected)).toBeGreaterThan(0);
  expect(discarded.length).toBeGreaterThan(0);
  expect(new Set(discarded)).toEqual(new Set(['bad']));
});

test('under a hedge an injected failure ends its own attempt alone', async () => {
  const seen = new Set<string>();
  for (let i = 0; i < 60; i++) {
    const { clock, calls, log } = watched([
      { hedge: { after: '100ms' } },
      { chaos: { fail: '40%', slow: { rate: '50%', by: '300ms' } } },
    ]);
    const result = settled(
      calls.execute(async ({ attempt, hedge }) => {
        expect(hedge).toBe(attempt > 1);
        await new Promise<void>((resolve) => clock.setTimeout(resolve, 200));
        return attempt;
      }),
    );
    await clock.advance(1000);
    const value = await result;
    const lines = log().map((line) => line.replace(/^\d+ /, ''));
    if (value instanceof InjectedError) seen.add('injected');
    else expect(lines.at(-1)).toMatch(/^end \d ok$/);
    for (const line of ['failed 1', 'start 1', 'start 2', 'cancel 1', 'hedge 2'])
      if (lines.includes(line)) seen.add(line);
    expect([clock.timers, calls.running]).toEqual([0, 0]);
  }
  expect([...seen].sort()).toEqual(['cancel 1', 'failed 1', 'hedge 2', 'injected', 'start 1', 'start 2']);
});

test('a step in shadow reports, and injects nothing', async () => {
  const { calls, log } = watched([
    always({ throttle: { rate: '100%', retry_after: '5s' }, slow: { rate: '100%', by: '2s' }, shadow: true }),
  ]);
  expect(await calls.execute(() => 7)).toBe(7);
  expect(log()).toEqual([
    '0 admit 1',
    '0 inject 1 until 2000 shadow',
    '0 inject 1 throttle after 5000 shadow',
    '0 end 1 ok',
  ]);
});

test('a policy around counts an injected result as what it is', async () => {
  const kinds: unknown[] = [];
  for (const inner of [
    { fail: '100%' },
    { ignore: '100%' },
    { throttle: { rate: '100%', retry_after: '3s' } },
  ]) {
    const { clock, calls, log } = watched([{ retry: { attempts: 2, backoff: 'none' } }]);
    const within = pipeline([always(inner)], { clock });
    const result = settled(calls.execute(() => within.execute(() => 1)));
    await clock.advance(3000);
    expect(await result).toBeInstanceOf(InjectedError);
    kinds.push(log());
  }
  expect(kinds).toEqual([
    ['0 admit 1', '0 retry 1 until 0', '0 admit 2', '0 end 2 fail'],
    ['0 admit 1', '0 end 1 ignore'],
    ['0 admit 1', '0 retry 1 until 3000', '3000 admit 2', '3000 end 2 throttle'],
  ]);
});

test('a call whose attempt the caller makes itself', async () => {
  const clock = virtualClock();
  const failing = pipeline([{ bulkhead: 1 }, always({ fail: '100%' })], { clock });
  expect(() => failing.tryAcquire()).toThrow(InjectedError);
  await expect(failing.acquire()).rejects.toBeInstanceOf(InjectedError);
  expect(failing.running).toBe(0);
  const slow = pipeline([{ bulkhead: 1 }, always({ slow: { rate: '100%', by: '1s' } })], { clock });
  expect(slow.tryAcquire()).toMatchObject({ ok: false, step: 'chaos', reason: 'wait' });
  const pass = slow.acquire();
  await clock.advance(1000);
  const given = await pass;
  expect(given.ok && slow.running).toBe(1);
  if (given.ok) given.success();
  expect(slow.running).toBe(0);
});

test('fetch gives the error, or the fallback where it covers the outcome', async () => {
  const sent: unknown[] = [];
  const send = async (input: unknown) => {
    sent.push(input);
    return new Response('served');
  };
  const get = (outcome: object, fallback?: object) =>
    settled(
      resilientFetch(
        { steps: [always(outcome)], ...(fallback && { fallback }) },
        { fetch: send as typeof fetch },
      )('https://example.com/'),
    );
  expect(await get({ fail: '100%' })).toBeInstanceOf(InjectedError);
  expect(((await get({ fail: '100%' }, { status: 418 })) as Response).status).toBe(418);
  expect(await get({ ignore: '100%' }, { status: 418 })).toBeInstanceOf(InjectedError);
  expect(sent).toEqual([]);
  expect(((await get({ fail: '0%' })) as Response).status).toBe(200);
});

test('reconfigured to 0% it injects nothing', async () => {
  const { calls } = watched([always({ fail: '100%' })]);
  expect(await settled(calls.execute(() => 1))).toBeInstanceOf(InjectedError);
  calls.configure([always({ fail: '0%' })]);
  expect(await calls.execute(() => 1)).toBe(1);
});

test('evaluate prints what is injected', () => {
  const lines = evaluate(
    [{ chaos: { throttle: { rate: '100%', retry_after: '2s' }, slow: { rate: '100%', by: '1s' } } }],
    [
      { at: '0s', op: 'call', id: 1 },
      { at: '500ms', op: 'done', id: 1, outcome: 'ok' },
      { at: '2s', op: 'tick' },
    ],
  );
  expect(lines.map((line) => JSON.stringify(line))).toEqual([
    '{"at":"0s","id":1,"decision":"admit","attempt":1}',
    '{"at":"0s","id":1,"decision":"inject","attempt":1,"step":"chaos","until":"1s"}',
    '{"at":"500ms","id":1,"decision":"stale"}',
    '{"at":"1s","id":1,"decision":"inject","outcome":"throttle","attempt":1,"step":"chaos","retry_after":"2s"}',
    '{"at":"1s","id":1,"decision":"end","outcome":"throttle","attempt":1}',
  ]);
});
