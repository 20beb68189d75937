import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Decision,
  HedgeLostError,
  type PipelineOptions,
  pipeline,
  RejectedError,
  resilientFetch,
  type Step,
  TimeoutError,
} from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

/** A hedged pipeline whose attempts are ended by the test. */
function hedged(steps: readonly Step[], options: PipelineOptions = {}) {
  const clock = virtualClock();
  const discarded: unknown[] = [];
  const heard: Decision[] = [];
  const calls = pipeline(steps, { clock, discard: (value) => discarded.push(value), ...options });
  calls.on((decision) => heard.push(decision));
  const attempts: {
    number: number;
    hedge: boolean;
    at: number;
    signal: AbortSignal;
    renew: () => void;
    resolve: (value: unknown) => void;
    reject: (reason: unknown) => void;
  }[] = [];
  const task = ({ attempt, hedge, signal, renew }: import('../src/index.js').Attempt) =>
    new Promise<unknown>((resolve, reject) => {
      attempts.push({ number: attempt, hedge, at: clock.now(), signal, renew, resolve, reject });
    });
  const log = () => heard.map(({ kind, attempt, at }) => `${at} ${kind}${attempt ? ` ${attempt}` : ''}`);
  return { clock, calls, task, attempts, discarded, heard, log };
}

const after = { hedge: { after: '100ms' } } as const;

test('the second attempt wins, the first one is aborted, and no caller waits for it', async () => {
  const { clock, calls, task, attempts, discarded, log, heard } = hedged([after]);
  let value: unknown;
  void calls.execute(task).then((v) => (value = v));
  await clock.advance(99);
  expect(attempts).toHaveLength(1);
  await clock.advance(1);
  expect(attempts.map(({ number, hedge, at }) => [number, hedge, at])).toEqual([
    [1, false, 0],
    [2, true, 100],
  ]);
  await clock.advance(50);
  attempts[1]?.resolve('second');
  await clock.advance(0);
  expect(value).toBe('second');
  const reason = attempts[0]?.signal.reason as HedgeLostError;
  expect(reason).toBeInstanceOf(HedgeLostError);
  expect([reason.name, reason.step, reason.won, reason.message]).toEqual([
    'HedgeLostError',
    'hedge',
    2,
    'hedge: attempt 2 won',
  ]);
  expect(attempts[1]?.signal.aborted).toBe(false);
  attempts[0]?.resolve('first');
  await clock.advance(0);
  expect(discarded).toEqual(['first']);
  expect(log()).toEqual(['0 admit 1', '100 hedge 2', '100 admit 2', '150 cancel 1', '150 end 2']);
  expect(heard.at(-1)).toMatchObject({ outcome: 'ok', won: 2 });
  expect(clock.timers).toBe(0);
});

test('one attempt that is fast starts no other', async () => {
  const { clock, calls, task, attempts, log, heard } = hedged([after]);
  const result = calls.attempt(task);
  await clock.advance(99);
  attempts[0]?.resolve(1);
  expect(await result).toEqual({ ok: true, value: 1 });
  await clock.advance(1000);
  expect(attempts).toHaveLength(1);
  expect(log()).toEqual(['0 admit 1', '99 end 1']);
  expect(heard.at(-1)).toMatchObject({ won: 1 });
});

test('a failure of one leaves the other, and the last one is that of the call', async () => {
  const { clock, calls, task, attempts, discarded, log } = hedged([after]);
  const won = calls.execute(task);
  await clock.advance(100);
  attempts[1]?.reject(new Error('second'));
  await clock.advance(0);
  attempts[0]?.resolve('first');
  expect(await won).toBe('first');
  expect(log()).toEqual(['0 admit 1', '100 hedge 2', '100 admit 2', '100 failed 2', '100 end 2']);

  const lost = calls.execute(task).catch((e: Error) => e.message);
  await clock.advance(100);
  attempts[2]?.reject(new Error('third'));
  await clock.advance(10);
  attempts[3]?.reject(new Error('fourth'));
  expect(await lost).toBe('fourth');
  expect(discarded).toEqual([]);
});

test('values that are failures are given up but for the last', async () => {
  const { clock, calls, task, attempts, discarded } = hedged([after], { outcome: () => 'fail' });
  const result = calls.execute(task);
  await clock.advance(100);
  attempts[0]?.resolve('first');
  await clock.advance(0);
  attempts[1]?.resolve('second');
  expect(await result).toBe('second');
  expect(discarded).toEqual(['first']);
});

test('a loser that fails when it is aborted concerns no caller', async () => {
  const { clock, calls } = hedged([after]);
  let aborted = 0;
  const result = calls.execute(
    ({ attempt, signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted++;
          reject(signal.reason);
        });
        if (attempt === 2) resolve('second');
      }),
  );
  await clock.advance(100);
  expect(await result).toBe('second');
  await clock.advance(0);
  expect(aborted).toBe(1);
});

test('parallel attempts start at once, and max of them', async () => {
  const { calls, task, attempts } = hedged([{ hedge: { parallel: true, max: 2 } }]);
  const result = calls.execute(task);
  expect(attempts.map(({ number, hedge }) => [number, hedge])).toEqual([
    [1, false],
    [2, true],
    [3, true],
  ]);
  attempts[2]?.resolve(3);
  expect(await result).toBe(3);
  expect(attempts.map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
});

test('a round follows a round: numbers run on, and the first of each is no hedge', async () => {
  const { clock, calls, task, attempts, discarded, log } = hedged([
    { retry: { attempts: 2, backoff: { constant: '1s' }, jitter: 'none' } },
    after,
  ]);
  const result = calls.execute(task);
  await clock.advance(100);
  attempts[0]?.reject(new Error('1'));
  attempts[1]?.reject(new Error('2'));
  await clock.advance(1100);
  expect(attempts.map(({ number, hedge, at }) => [number, hedge, at])).toEqual([
    [1, false, 0],
    [2, true, 100],
    [3, false, 1100],
    [4, true, 1200],
  ]);
  attempts[2]?.resolve('third');
  expect(await result).toBe('third');
  expect(log().slice(3)).toEqual([
    '100 failed 1',
    '100 retry 2',
    '1100 admit 3',
    '1200 hedge 4',
    '1200 admit 4',
    '1200 cancel 4',
    '1200 end 4',
  ]);
  attempts[3]?.resolve('fourth');
  await clock.advance(0);
  expect(discarded).toEqual(['fourth']);
});

describe('timeouts', () => {
  test('below the hedge one cuts its own attempt', async () => {
    const { clock, calls, task, attempts } = hedged([after, { timeout: '150ms' }]);
    const result = calls.execute(task);
    await clock.advance(150);
    expect(attempts.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(attempts[0]?.signal.reason).toBeInstanceOf(TimeoutError);
    attempts[0]?.resolve('late');
    attempts[1]?.resolve('second');
    expect(await result).toBe('second');

    const cut = calls.attempt(task);
    await clock.advance(250);
    expect(await cut).toMatchObject({ ok: false, step: 'timeout', reason: 'timeout' });
    expect(attempts.slice(2).map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });

  test('above the hedge one cuts all, and so do the deadline and the caller', async () => {
    const { clock, calls, task, attempts } = hedged([{ timeout: '150ms' }, after]);
    const all = () => attempts.splice(0).map(({ signal }) => (signal.reason as Error)?.name);
    const cut = calls.execute(task).catch((e: Error) => e.name);
    await clock.advance(150);
    expect(await cut).toBe('TimeoutError');
    expect(all()).toEqual(['TimeoutError', 'TimeoutError']);

    const late = calls.execute(task, { deadline: 120 }).catch((e: TimeoutError) => e.step);
    await clock.advance(120);
    expect(await late).toBe('deadline');
    expect(all()).toEqual(['TimeoutError', 'TimeoutError']);

    const controller = new AbortController();
    const gone = calls.execute(task, { signal: controller.signal }).catch((e: Error) => e.message);
    await clock.advance(110);
    controller.abort(new RangeError('enough'));
    expect(await gone).toBe('enough');
    expect(all()).toEqual(['RangeError', 'RangeError']);
    await clock.advance(1000);
    expect(clock.timers).toBe(0);
  });

  test('an end that comes at the mark of the cut is too late', async () => {
    const { clock, calls, task, attempts, discarded } = hedged([after, { timeout: '150ms' }]);
    const result = calls.execute(task);
    await clock.advance(100);
    const now = clock.now;
    clock.now = () => 150;
    attempts[0]?.resolve('late');
    await clock.advance(0);
    clock.now = now;
    expect(discarded).toEqual(['late']);
    attempts[1]?.resolve('second');
    expect(await result).toBe('second');
  });
});

test('a hedge without a place is dropped, and the call is refused when none lives', async () => {
  const { clock, calls, task, attempts, log } = hedged([after, { bulkhead: { concurrent: 1 } }]);
  const result = calls.execute(task);
  await clock.advance(100);
  expect(attempts).toHaveLength(1);
  expect(log()).toEqual(['0 admit 1', '100 hedge 2', '100 drop 2']);
  const refused = await calls.attempt(task);
  expect(refused).toMatchObject({ ok: false, step: 'bulkhead', reason: 'full' });
  await expect(calls.execute(task)).rejects.toBeInstanceOf(RejectedError);
  attempts[0]?.resolve(1);
  expect(await result).toBe(1);
});

test('an attempt renews its own leases', async () => {
  const { clock, calls, task, attempts, heard } = hedged([
    after,
    { bulkhead: { concurrent: 2, lease: '200ms' } },
  ]);
  void calls.execute(task);
  await clock.advance(150);
  attempts[1]?.renew();
  await clock.advance(300);
  expect(heard.filter(({ kind }) => kind === 'lapse').map(({ attempt, at }) => [attempt, at])).toEqual([
    [1, 200],
    [2, 350],
  ]);
});

test('in shadow, and where the call says so, nothing runs beside an attempt', async () => {
  const shadow = hedged([{ hedge: { after: '100ms', shadow: true } }]);
  const watched = shadow.calls.execute(shadow.task);
  await shadow.clock.advance(200);
  expect(shadow.attempts).toHaveLength(1);
  expect(shadow.heard[1]).toMatchObject({ kind: 'hedge', attempt: 2, shadow: true });
  shadow.attempts[0]?.resolve(1);
  expect(await watched).toBe(1);

  const { clock, calls, task, attempts, log } = hedged([after]);
  const alone = calls.execute(task, { hedge: false });
  await clock.advance(200);
  attempts[0]?.resolve(1);
  expect(await alone).toBe(1);
  expect(log()).toEqual(['0 admit 1', '200 end 1']);
});

test('a fallback replaces the failure of the last attempt', async () => {
  const { clock, calls, task, attempts } = hedged([after], { fallback: (e) => (e as Error).message });
  calls.configure({ steps: [after], fallback: {} });
  const result = calls.execute(task);
  await clock.advance(100);
  attempts[0]?.reject(new Error('first'));
  attempts[1]?.reject(new Error('second'));
  expect(await result).toBe('second');
});

test('an abort handler may use the pipeline', async () => {
  const { clock, calls, attempts, task } = hedged([after]);
  const nested: Promise<unknown>[] = [];
  const result = calls.execute((attempt) => {
    attempt.signal.addEventListener('abort', () => nested.push(calls.execute(() => 'nested')));
    return task(attempt);
  });
  await clock.advance(100);
  attempts[1]?.resolve(2);
  expect(await result).toBe(2);
  expect(await Promise.all(nested)).toEqual(['nested']);
});

describe('fetch', () => {
  const url = 'https://example.com/';
  const sent = async (init: RequestInit, settings: object = {}) => {
    const clock = virtualClock();
    const signals: AbortSignal[] = [];
    const get = resilientFetch([{ hedge: { after: '100ms', ...settings } }], {
      clock,
      fetch: (_, { signal } = {}) =>
        new Promise((resolve, reject) => {
          signals.push(signal as AbortSignal);
          signal?.addEventListener('abort', () => reject(signal.reason));
          if (signals.length === 2) resolve(new Response('second'));
          else clock.setTimeout(() => resolve(new Response('first')), 1000);
        }),
    });
    const answer = get(url, init);
    await clock.advance(2000);
    return { count: signals.length, signals, text: await (await answer).text() };
  };

  test('the slower request is aborted', async () => {
    const { signals, text } = await sent({});
    expect(text).toBe('second');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect((signals[0]?.reason as Error)?.name).toBe('HedgeLostError');
  });

  test.each([
    ['HEAD', undefined, {}, {}, 2],
    ['PUT', 'x', {}, {}, 2],
    ['POST', 'x', {}, {}, 1],
    ['POST', 'x', {}, { 'Idempotency-Key': '7' }, 2],
    ['POST', 'x', { methods: ['POST'] }, {}, 2],
    ['GET', undefined, { methods: 'HEAD' }, {}, 1],
    ['PUT', 'x'.repeat(65_537), {}, {}, 1],
    ['PUT', new Blob(['x']).stream(), {}, {}, 1],
  ] as const)(
    '%s of %s with %j and %j is sent %5$s times',
    async (method, body, settings, headers, count) => {
      const init = { method, headers: headers as Record<string, string>, ...(body && { body }) };
      expect((await sent(init, settings)).count).toBe(count);
    },
  );
});
