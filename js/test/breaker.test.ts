import { expect, test } from 'vitest';
import { type BreakerPass, circuitBreaker, type Decision, PolicyError, RejectedError } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const fails = () => Promise.reject(new Error('down'));

test('opens, half-opens and closes', async () => {
  const clock = virtualClock();
  const breaker = circuitBreaker({ window: { calls: 4 }, minimum: 2, open: '10s', probes: 1, clock });
  const changes: [string | undefined, number][] = [];
  breaker.on('change', ({ state, at }) => changes.push([state, at]));
  expect(breaker.state).toBe('closed');
  expect(await breaker.execute(() => 5)).toBe(5);
  await expect(breaker.execute(fails)).rejects.toThrow('down');
  expect(breaker.state).toBe('open');
  await clock.advance(4000);
  const error = await breaker.execute(() => 1).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(RejectedError);
  expect(error).toMatchObject({ step: 'breaker', reason: 'open', retryAfter: 6000 });
  await clock.advance(6001);
  expect(changes.map(([state]) => state)).toEqual(['open', 'half-open']);
  const probe = breaker.tryAcquire();
  expect(await breaker.attempt(() => 1)).toMatchObject({ ok: false, reason: 'probes' });
  if (probe.ok) probe.success();
  expect(breaker.state).toBe('closed');
  expect(changes.at(-1)?.[0]).toBe('closed');
});

test('as many good probes as asked close it, and its open times come from a list', async () => {
  const clock = virtualClock();
  const window = { consecutive: 1 };
  const open = { delays: ['2s', '5s'] } as const;
  const breaker = circuitBreaker({ window, open, probes: 3, successes: 2, clock });
  await expect(breaker.execute(fails)).rejects.toThrow('down');
  await clock.advance(2000);
  await expect(breaker.execute(fails)).rejects.toThrow('down');
  expect(breaker.state).toBe('half-open');
  await expect(breaker.execute(fails)).rejects.toThrow('down');
  expect(breaker.state).toBe('open');
  expect(await breaker.attempt(() => 1)).toMatchObject({ reason: 'open', retryAfter: 5000 });
  await clock.advance(5000);
  await expect(breaker.execute(fails)).rejects.toThrow('down');
  await breaker.execute(() => 1);
  await breaker.execute(() => 1);
  expect(breaker.state).toBe('closed');
});

test('failures in a row are forgotten', async () => {
  for (const [pause, state] of [
    [59_999, 'open'],
    [60_000, 'closed'],
  ] as const) {
    const clock = virtualClock();
    const breaker = circuitBreaker({ window: { consecutive: 2, forget: '60s' }, clock });
    await expect(breaker.execute(fails)).rejects.toThrow();
    await clock.advance(pause);
    await expect(breaker.execute(fails)).rejects.toThrow();
    expect(breaker.state).toBe(state);
  }
});

test('a pass counts once', () => {
  const breaker = circuitBreaker({ window: { consecutive: 2 }, clock: virtualClock() });
  const pass = breaker.tryAcquire();
  if (!pass.ok) throw new Error('refused');
  pass.failure();
  pass.failure();
  expect(breaker.state).toBe('closed');
  const other = breaker.tryAcquire();
  if (other.ok) other.ignore();
  const last = breaker.tryAcquire();
  if (last.ok) last.failure();
  expect(breaker.state).toBe('open');
});

test('outcomes say what results mean', async () => {
  const breaker = circuitBreaker({
    window: { consecutive: 1 },
    clock: virtualClock(),
    outcome: (error, value) => (error === undefined ? (value === 503 ? 'fail' : 'ok') : 'ignore'),
  });
  await expect(breaker.execute(fails)).rejects.toThrow();
  expect(breaker.state).toBe('closed');
  expect(await breaker.execute(() => 503)).toBe(503);
  expect(breaker.state).toBe('open');
});

test('a cancelled call, and a refusal inside, are no failures', async () => {
  const breaker = circuitBreaker({ window: { consecutive: 1 }, clock: virtualClock() });
  const controller = new AbortController();
  const gone = breaker.execute(
    ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { signal: controller.signal },
  );
  controller.abort(new Error('enough'));
  await expect(gone).rejects.toThrow('enough');
  const inner = circuitBreaker();
  inner.transition('forced-open');
  await expect(breaker.execute(() => inner.execute(() => 1))).rejects.toThrow(RejectedError);
  expect(breaker.state).toBe('closed');
});

test('states by hand, reset, shadow', async () => {
  const clock = virtualClock();
  const breaker = circuitBreaker({ clock });
  breaker.transition('forced-open');
  expect((await breaker.attempt(() => 1)).ok).toBe(false);
  breaker.reset();
  expect(breaker.state).toBe('closed');
  expect(() => breaker.transition('ajar' as never)).toThrow(PolicyError);
  const shadow = circuitBreaker({ shadow: true, clock });
  const heard: Decision[] = [];
  shadow.on('reject', (decision) => heard.push(decision));
  shadow.transition('forced-open');
  expect(await shadow.execute(() => 1)).toBe(1);
  expect(heard).toMatchObject([{ shadow: true, reason: 'open' }]);
});

test('a snapshot keeps it open', () => {
  const clock = virtualClock();
  const breaker = circuitBreaker({ window: { consecutive: 1 }, open: '1h', clock });
  const pass = breaker.tryAcquire();
  if (pass.ok) pass.failure();
  const other = circuitBreaker({ window: { consecutive: 1 }, open: '1h', clock: virtualClock(1e6) });
  expect(other.restore(breaker.snapshot())).toBe(true);
  expect(other.state).toBe('open');
});

test('undefined thrown is a failure', async () => {
  const breaker = circuitBreaker({ window: { consecutive: 1 }, clock: virtualClock() });
  await expect(breaker.execute(() => Promise.reject(undefined))).rejects.toBeUndefined();
  expect(breaker.state).toBe('open');
});

test('the functions of a pass hold without it', () => {
  const breaker = circuitBreaker({ window: { consecutive: 1 }, clock: virtualClock() });
  for (const name of ['success', 'ignore', 'failure'] as const) {
    const { [name]: end } = breaker.tryAcquire() as BreakerPass;
    expect(breaker.state).toBe('closed');
    end();
  }
  expect(breaker.state).toBe('open');
});

test('an admission that makes it half-open is heard', async () => {
  const clock = virtualClock();
  const breaker = circuitBreaker({ window: { consecutive: 1 }, open: '10s', probes: 1, clock });
  const states: unknown[] = [];
  breaker.on('change', ({ state, at }) => states.push(state, at));
  await breaker.execute(() => Promise.reject(new Error('down'))).catch(() => {});
  await clock.advance(10_000);
  await breaker.execute(() => 1);
  expect(states).toEqual(['open', 0, 'half-open', 10_000, 'closed', 10_000]);
});

test('a refusal that holds is given again without a step, until something else than time changes it', async () => {
  const clock = virtualClock();
  const breaker = circuitBreaker({ window: { consecutive: 1 }, open: '10s', clock });
  const fail = (): void => {
    const pass = breaker.tryAcquire();
    if (pass.ok) pass.failure();
  };
  fail();
  expect(breaker.tryAcquire()).toEqual({ ok: false, step: 'breaker', reason: 'open', retryAfter: 10_000 });
  await clock.advance(4000);
  expect(breaker.tryAcquire()).toEqual({ ok: false, step: 'breaker', reason: 'open', retryAfter: 6000 });
  const saved = breaker.snapshot();
  breaker.reset();
  expect(breaker.tryAcquire().ok).toBe(true);
  expect(breaker.restore(saved)).toBe(true);
  expect(breaker.tryAcquire()).toMatchObject({ ok: false, retryAfter: 6000 });
  await clock.advance(5999);
  expect(breaker.tryAcquire()).toMatchObject({ ok: false, retryAfter: 1 });
  breaker.transition('forced-open');
  expect(breaker.tryAcquire()).toMatchObject({ ok: false, retryAfter: undefined });
  breaker.transition('closed');
  expect(breaker.tryAcquire().ok).toBe(true);
});

test.each([
  { window: { calls: 4 }, minimum: 2 },
  { window: { time: '2s', buckets: 4 }, minimum: 2 } as const,
  { window: { consecutive: 2 } },
])('a listener of changes is told the same as one of everything, by %j', async (settings) => {
  let seed = 20_261_122;
  const drawn = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const clock = virtualClock();
  const options = { ...settings, open: '1s', probes: 2, clock } as const;
  const [watched, whole] = [circuitBreaker(options), circuitBreaker(options)];
  const changes: Decision[] = [];
  const all: Decision[] = [];
  watched.on('change', (decision) => changes.push(decision));
  whole.on((decision) => all.push(decision));
  for (let i = 0; i < 600; i++) {
    const task = drawn(3) === 0 ? fails : () => i;
    const call = async (breaker: typeof watched): Promise<unknown> => breaker.attempt(task).catch(String);
    expect(await call(watched)).toEqual(await call(whole));
    await clock.advance(drawn(300));
  }
  expect(changes).toEqual(all.filter(({ kind }) => kind === 'change'));
  expect(new Set(changes.map(({ state }) => state))).toEqual(new Set(['open', 'half-open', 'closed']));
});
