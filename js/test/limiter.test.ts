import { describe, expect, test, vi } from 'vitest';
import { type Decision, PolicyError, RejectedError, rateLimiter } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

describe('tryAcquire', () => {
  test('says yes, then when', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '2/1s', clock });
    expect(limiter.tryAcquire()).toEqual({ ok: true });
    expect(limiter.tryAcquire()).toEqual({ ok: true });
    expect(limiter.peek()).toEqual({ ok: false, step: 'limit', reason: 'rate', retryAfter: 500 });
    expect(limiter.tryAcquire()).toEqual({ ok: false, step: 'limit', reason: 'rate', retryAfter: 500 });
    await clock.advance(500);
    expect(limiter.tryAcquire().ok).toBe(true);
  });

  test('takes a cost, and nothing for 0', () => {
    const limiter = rateLimiter({ rate: '3/1s', clock: virtualClock() });
    expect(limiter.tryAcquire({ cost: 0 }).ok).toBe(true);
    expect(limiter.tryAcquire({ cost: 4 })).toMatchObject({ reason: 'capacity', retryAfter: undefined });
    expect(limiter.tryAcquire({ cost: 3 }).ok).toBe(true);
    expect(limiter.tryAcquire().ok).toBe(false);
  });

  test.each([-1, 1.5, Number.NaN, 2 ** 32])('refuses the cost %s', (cost) => {
    expect(() => rateLimiter('1/1s').tryAcquire({ cost })).toThrow(PolicyError);
  });

  test('is never in the queue', () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '1/1s', wait: '10s', clock });
    limiter.tryAcquire();
    expect(limiter.tryAcquire().ok).toBe(false);
    expect(clock.timers).toBe(0);
  });
});

describe('acquire', () => {
  test('waits for its turn', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '1/1s', wait: '5s', queue: 2, clock });
    const order: string[] = [];
    const all = ['a', 'b', 'c', 'd'].map((name) =>
      limiter.acquire().then(({ ok }) => order.push(`${name} ${ok} ${clock.now()}`)),
    );
    await clock.advance(5000);
    await Promise.all(all);
    expect(order).toEqual(['a true 0', 'd false 0', 'b true 1000', 'c true 2000']);
  });

  test('an aborted signal frees the place', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '1/1s', wait: '5s', clock });
    limiter.tryAcquire();
    const giveUp = new AbortController();
    const first = limiter.acquire({ signal: giveUp.signal });
    const second = limiter.acquire();
    giveUp.abort('enough');
    await expect(first).rejects.toBe('enough');
    await clock.advance(1000);
    expect(await second).toEqual({ ok: true });
    await expect(limiter.acquire({ signal: giveUp.signal })).rejects.toBe('enough');
  });

  test('a caller that cancels at the mark of its turn takes nothing', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '1/1s', wait: '5s', clock });
    limiter.tryAcquire();
    const giveUp = new AbortController();
    const waits = limiter.acquire({ signal: giveUp.signal });
    // The time has come and the timer has not: the abort is what lets it pass.
    const now = clock.now;
    clock.now = () => 1000;
    giveUp.abort();
    await expect(waits).rejects.toThrow();
    expect(limiter.tryAcquire().ok).toBe(true);
    clock.now = now;
  });

  test('10,000 wait and half of them cancel: order, one timer, nothing left', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ rate: '1000/1s', burst: 1, wait: '20s', queue: 10_000, clock });
    limiter.tryAcquire();
    const served: number[] = [];
    let gone = 0;
    let listeners = 0;
    const all = Array.from({ length: 10_000 }, (_, i) => {
      const controller = new AbortController();
      const { signal } = controller;
      const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
      signal.addEventListener = (...a: Parameters<typeof add>) => {
        listeners++;
        add(...a);
      };
      signal.removeEventListener = (...a: Parameters<typeof remove>) => {
        listeners--;
        remove(...a);
      };
      const done = limiter.acquire({ signal }).then(
        () => served.push(i),
        () => gone++,
      );
      return { controller, done };
    });
    expect(clock.timers).toBe(1);
    expect(listeners).toBe(10_000);
    for (const { controller } of all.filter((_, i) => i % 2)) controller.abort();
    expect(clock.timers).toBe(1);
    await clock.advance(5000);
    await Promise.all(all.map(({ done }) => done));
    expect(gone).toBe(5000);
    expect(served).toEqual(Array.from({ length: 5000 }, (_, i) => 2 * i));
    expect(listeners).toBe(0);
    await clock.advance(60_000);
    expect(clock.timers).toBe(0);
    expect(limiter.tryAcquire().ok).toBe(true);
  });
});

describe('facades', () => {
  test('execute throws a refusal without a stack, attempt returns it', async () => {
    const limiter = rateLimiter({ rate: '1/1h', name: 'mine', clock: virtualClock() });
    expect(await limiter.execute(async ({ attempt }) => attempt)).toBe(1);
    const error = await limiter.execute(() => 1).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(RejectedError);
    expect(error).toMatchObject({ step: 'mine', reason: 'rate', retryAfter: 3_600_000 });
    expect((error as Error).stack).not.toContain('\n');
    expect(await limiter.attempt(() => 1)).toMatchObject({ ok: false, reason: 'rate' });
  });

  test('what the function throws is thrown', async () => {
    await expect(rateLimiter('9/1s').attempt(() => Promise.reject(new Error('mine')))).rejects.toThrow(
      'mine',
    );
  });
});

test('shadow mode decides, emits and enforces nothing', async () => {
  const clock = virtualClock();
  const limiter = rateLimiter({ rate: '1/1s', wait: '1s', queue: 1, shadow: true, clock });
  const heard: Decision[] = [];
  limiter.on((decision) => heard.push(decision));
  for (let i = 0; i < 3; i++) expect(await limiter.acquire()).toEqual({ ok: true });
  expect(heard.map(({ kind, shadow }) => [kind, shadow])).toEqual([
    ['admit', undefined],
    ['wait', true],
    ['reject', true],
  ]);
});

test('a listener that throws does not affect others, and is removed', () => {
  const limiter = rateLimiter({ rate: '1/1s', clock: virtualClock() });
  const heard: string[] = [];
  const stop = limiter.on(() => {
    throw new Error('mine');
  });
  limiter.on('reject', ({ kind }) => heard.push(kind));
  limiter.tryAcquire();
  stop();
  expect(limiter.tryAcquire().ok).toBe(false);
  expect(heard).toEqual(['reject']);
});

test('a snapshot is JSON and moves with the wall clock', async () => {
  const clock = virtualClock(5000);
  const limiter = rateLimiter({ rate: '1/1h', clock });
  limiter.tryAcquire();
  const saved = JSON.parse(JSON.stringify(limiter.snapshot()));
  const later = virtualClock(77);
  await later.advance(1_800_000);
  const other = rateLimiter({ rate: '1/1h', clock: later });
  expect(other.restore(saved)).toBe(true);
  const verdict = other.tryAcquire();
  expect(verdict).toMatchObject({ ok: false, reason: 'rate', retryAfter: 1_800_000 });
  expect(rateLimiter({ rate: '1/1h', name: 'other' }).restore(saved)).toBe(false);
  expect(() => other.restore({} as never)).toThrow(PolicyError);
  expect(() => other.restore({ ...saved, steps: { limit: '!' } })).toThrow(PolicyError);
  expect(other.restore({ ...saved, steps: { limit: 'AAAA' } })).toBe(false);
});

test('a clock without wall time has the wall time of the runtime', () => {
  const today = vi.spyOn(Date, 'now').mockReturnValue(1e12);
  const { wall: _, ...clock } = virtualClock();
  const limiter = rateLimiter({ rate: '1/1h', clock });
  limiter.tryAcquire();
  const saved = limiter.snapshot();
  today.mockReturnValue(1e12 + 600_000);
  expect(limiter.restore(saved)).toBe(true);
  expect(limiter.tryAcquire()).toMatchObject({ ok: false, retryAfter: 3_000_000 });
  today.mockRestore();
});

describe('keyed', () => {
  test('keys know nothing of each other', () => {
    const limiter = rateLimiter.keyed({ rate: '1/1s', clock: virtualClock() });
    expect(limiter.tryAcquire('a').ok).toBe(true);
    expect(limiter.tryAcquire('a').ok).toBe(false);
    expect(limiter.tryAcquire('b').ok).toBe(true);
  });

  test('the key that was used the longest time ago gives its limiter up', () => {
    const limiter = rateLimiter.keyed({ rate: '1/1s', keys: 10, clock: virtualClock() });
    const ok = (key: string) => limiter.tryAcquire(key).ok;
    for (let i = 0; i < 10; i++) expect(ok(`a${i}`)).toBe(true);
    for (let i = 0; i < 5; i++) expect(ok(`a${i}`)).toBe(false);
    expect(limiter.peek('b').ok).toBe(true);
    for (let i = 0; i < 5; i++) expect(ok(`b${i}`)).toBe(true);
    for (let i = 0; i < 5; i++) expect(ok(`a${i}`)).toBe(false);
    expect(limiter.counts).toEqual({ keys: 10, evictions: 5, shared: 0, unblocked: 0 });
    expect(ok('a5')).toBe(true);
  });

  test('a key that was refused is a new one after its eviction, and has all permits after a reset', () => {
    const limiter = rateLimiter.keyed({ rate: '1/1d', keys: 1, clock: virtualClock() });
    const taken = (key: string): boolean => limiter.tryAcquire(key).ok;
    expect([taken('a'), taken('a'), taken('a')]).toEqual([true, false, false]);
    expect([taken('b'), taken('b'), taken('a'), taken('a')]).toEqual([true, false, true, false]);
    expect(limiter.evict('a')).toBe(true);
    expect([taken('a'), taken('a')]).toEqual([true, false]);
    const before = limiter.snapshot();
    expect(limiter.reset('a')).toBe(true);
    expect([taken('a'), taken('a')]).toEqual([true, false]);
    limiter.reset('a');
    expect(limiter.restore(before)).toBe(true);
    expect(taken('a')).toBe(false);
    expect([...limiter.keys()]).toEqual(['a']);
  });

  test('keys come, are used and are evicted as by a list', () => {
    let seed = 20_261_122;
    const drawn = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    // With so few keys each use moves its key.
    const most = 3;
    const limiter = rateLimiter.keyed({ rate: '1/1d', keys: most, clock: virtualClock() });
    let list: string[] = [];
    for (let i = 0; i < 3000; i++) {
      const key = `key ${drawn(6)}`;
      if (drawn(10) === 0) {
        expect(limiter.evict(key)).toBe(list.includes(key));
        list = list.filter((one) => one !== key);
        continue;
      }
      expect(limiter.tryAcquire(key).ok, `step ${i}`).toBe(!list.includes(key));
      list = [...list.filter((one) => one !== key), key].slice(-most);
      expect(new Set(limiter.keys())).toEqual(new Set(list));
    }
  });

  test('a key keeps its limiter while fewer than half of all were used since', () => {
    const keys = 64;
    const limiter = rateLimiter.keyed({ rate: '1/1h', keys, clock: virtualClock() });
    const used = new Map<string, number>();
    let state = 7;
    for (let n = 0; n < 20_000; n++) {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      const key = `k${(state >>> 16) % (n % 200 < 100 ? 40 : 200)}`;
      const last = used.get(key);
      const others = [...used.values()].filter((at) => at > (last ?? n)).length;
      const { ok } = limiter.tryAcquire(key);
      if (last !== undefined && others < keys / 2) expect([n, ok]).toEqual([n, false]);
      used.set(key, n);
    }
    expect(limiter.counts.keys).toBe(keys);
    expect(limiter.counts.evictions).toBeGreaterThan(1000);
  });

  test('where they share, a key that comes too late has no limiter of its own', () => {
    const limiter = rateLimiter.keyed({
      rate: '1/1s',
      keys: 2,
      when_full: 'share',
      clock: virtualClock(),
    });
    const ok = ['a', 'b', 'c', 'd', 'a'].map((key) => limiter.tryAcquire(key).ok);
    expect(ok).toEqual([true, true, true, false, false]);
    expect(limiter.peek('e').ok).toBe(false);
    expect(limiter.counts).toEqual({ keys: 2, evictions: 0, shared: 2, unblocked: 0 });
  });

  test('a limiter at which callers wait is not taken', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter.keyed({ rate: '1/1s', keys: 2, wait: '10s', clock });
    for (const key of ['a', 'b']) expect(limiter.tryAcquire(key).ok).toBe(true);
    const waits = [limiter.acquire('a'), limiter.acquire('b')];
    expect(limiter.tryAcquire('c').ok).toBe(true);
    expect(limiter.tryAcquire('d').ok).toBe(false);
    expect(limiter.counts).toEqual({ keys: 2, evictions: 0, shared: 2, unblocked: 0 });
    await clock.advance(1000);
    expect(await Promise.all(waits)).toEqual([{ ok: true }, { ok: true }]);
    expect(limiter.tryAcquire('a').ok).toBe(false);
    expect(limiter.tryAcquire('e').ok).toBe(true);
    expect(limiter.counts).toEqual({ keys: 2, evictions: 1, shared: 2, unblocked: 0 });
    expect([limiter.peek('a').ok, limiter.peek('b').ok]).toEqual([false, true]);
  });

  test('waits, facades, snapshots', async () => {
    const clock = virtualClock();
    const limiter = rateLimiter.keyed({ rate: '1/1s', wait: '1s', clock });
    expect(await limiter.execute(() => 1, { key: 'a' })).toBe(1);
    const waits = limiter.attempt(() => clock.now(), { key: 'a' });
    await clock.advance(1000);
    expect(await waits).toEqual({ ok: true, value: 1000 });
    const saved = limiter.snapshot();
    expect(Object.keys(saved.steps.limit as object)).toEqual(['a']);
    const other = rateLimiter.keyed({ rate: '1/1s', wait: '1s', clock });
    expect(other.restore(saved)).toBe(true);
    expect(other.peek('a').ok).toBe(false);
  });

  test.each([{ keys: 0 }, { keys: 1.5 }, { keys: 10_000_001 }, { when_full: 'forget' }, { maxKeys: 5 }])(
    '%o is an error',
    (settings) => {
      expect(() => rateLimiter.keyed({ rate: '1/1s', ...settings } as never)).toThrow(PolicyError);
    },
  );
});

describe('wrong options', () => {
  test('say the path, what was found, what is allowed and the nearest name', () => {
    const wrong = () => rateLimiter({ rate: '50/1m', brust: 5 } as never);
    expect(wrong).toThrow(PolicyError);
    try {
      wrong();
    } catch (error) {
      const { code, problems } = error as PolicyError;
      expect(code).toBe('bad-policy');
      expect(problems[0]).toMatchObject({
        path: 'limit.brust',
        found: 'the unknown name "brust"',
        nearest: 'burst',
      });
    }
  });

  test.each([
    50,
    '50',
    { rate: 50 },
    {},
    undefined,
    null,
    [],
    { rate: '1/1s', queue: 5 },
    { rate: '1/1s', per: 'key' },
    { rate: '1/1s', x: 1n },
  ])('%o is an error', (options) => {
    expect(() => rateLimiter(options as never)).toThrow(PolicyError);
  });
});

test('a refusal that holds is given again without a step, until something else than time changes it', async () => {
  const clock = virtualClock();
  const limiter = rateLimiter({ rate: '2/1s', burst: 1, clock });
  limiter.tryAcquire();
  const refused = (retryAfter: number) => ({ ok: false, step: 'limit', reason: 'rate', retryAfter });
  expect(limiter.tryAcquire()).toEqual(refused(500));
  await clock.advance(200.25);
  expect(limiter.tryAcquire()).toEqual(refused(299.75));
  expect(limiter.tryAcquire({ cost: 0 }).ok).toBe(true);
  expect(limiter.tryAcquire()).toEqual(refused(299.75));
  const heard: string[] = [];
  const stop = limiter.on(({ kind }) => heard.push(kind));
  limiter.tryAcquire();
  stop();
  expect(heard).toEqual(['reject']);
  limiter.reset();
  expect(limiter.tryAcquire().ok).toBe(true);
  expect(limiter.tryAcquire()).toEqual(refused(500));
  await clock.advance(500);
  expect(limiter.tryAcquire().ok).toBe(true);
  limiter.tryAcquire();
  limiter.dispose();
  expect(() => limiter.tryAcquire()).toThrow(/disposed|freed/);
});
