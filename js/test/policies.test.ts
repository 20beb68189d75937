import { describe, expect, test } from 'vitest';
import { type Decision, type PolicyDocument, PolicyError, policies, policy } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const two = (mechanism: object, more = {}): PolicyDocument => ({
  version: 1,
  mechanisms: { m: mechanism as { limit: '5/s' } },
  policies: {
    a: { steps: [{ use: 'm' }] },
    b: { steps: [{ timeout: '1h' }, { use: { mechanism: 'm', name: 'x', ...more } }] },
    c: { steps: [mechanism as { limit: '5/s' }] },
  },
});

type All = Record<'a' | 'b' | 'c', ReturnType<typeof policy>>;
const of = (document: PolicyDocument | string, clock = virtualClock()): All =>
  policies(document, { clock }) as All;

const admits = async (one: ReturnType<typeof policy>, key?: string): Promise<boolean> =>
  (await one.attempt(() => true, key === undefined ? {} : { key })).ok;

describe('policies of one document', () => {
  test('share a limit, and one that is made alone has its own', async () => {
    const clock = virtualClock();
    const { a, b, c } = of(JSON.stringify(two({ limit: '2/1m' })), clock);
    expect([await admits(a), await admits(b)]).toEqual([true, true]);
    const refused = await b.attempt(() => true);
    expect(refused).toMatchObject({ ok: false, step: 'x', reason: 'rate' });
    expect([await admits(a), await admits(c)]).toEqual([false, true]);
    expect(a.quotas()[0]).toMatchObject({ step: 'm', limit: 2, remaining: 0 });
    expect(await admits(policy(two({ limit: '2/1m' }), { name: 'a', clock }))).toBe(true);
    await clock.advance(60_000);
    expect(await admits(a)).toBe(true);
  });

  test('share the cells of keys', async () => {
    const { a, b } = of(two({ limit: { rate: '1/1m', per: 'key' } }));
    expect(await admits(a, 'u')).toBe(true);
    expect(await admits(b, 'u')).toBe(false);
    expect(await admits(b, 'v')).toBe(true);
    expect(await admits(a, 'v')).toBe(false);
  });

  test('a place that one frees goes to the waiter of another one', async () => {
    const clock = virtualClock();
    const { a, b } = of(two({ bulkhead: { concurrent: 1, queue: 1, wait: '10s' } }), clock);
    let free: () => void = () => {};
    const first = a.execute(
      () =>
        new Promise<void>((resolve) => {
          free = resolve;
        }),
    );
    const heard: string[] = [];
    b.on((decision: Decision) => heard.push(decision.kind));
    const second = b.execute(() => 'second');
    expect(await admits(a)).toBe(false);
    expect([a.running, b.running]).toEqual([1, 1]);
    free();
    await first;
    expect(await second).toBe('second');
    expect(heard).toEqual(['wait', 'admit', 'end']);
    // The end of a wait comes by the clock that both have.
    const held = b.execute(() => new Promise<void>(() => {}));
    const waiting = a.attempt(() => true);
    await clock.advance(10_000);
    expect(await waiting).toMatchObject({ ok: false, reason: 'wait' });
    void held;
  });

  test('the change of a breaker is told by each', async () => {
    const { a, b } = of(two({ breaker: { window: { consecutive: 2 }, open: '10s' } }));
    const heard: string[] = [];
    a.on((decision: Decision) => decision.kind === 'change' && heard.push(`a ${decision.step}`));
    b.on((decision: Decision) => decision.kind === 'change' && heard.push(`b ${decision.step}`));
    const fail = (): never => {
      throw new Error('no');
    };
    await expect(a.execute(fail)).rejects.toThrow('no');
    await expect(b.execute(fail)).rejects.toThrow('no');
    expect(heard.sort()).toEqual(['a m', 'b x']);
    expect(await admits(a)).toBe(false);
    a.step('m').reset();
    expect(await admits(b)).toBe(true);
  });

  test('each is disposed by itself', async () => {
    const { a, b, c } = of(two({ limit: '2/1m' }));
    a.dispose();
    await expect(a.execute(() => 1)).rejects.toThrow(PolicyError);
    expect([await admits(b), await admits(b), await admits(b)]).toEqual([true, true, false]);
    b.dispose();
    await expect(b.execute(() => 1)).rejects.toThrow(PolicyError);
    expect(await admits(c)).toBe(true);
  });

  test('snapshots have the state', async () => {
    const first = of(two({ limit: '2/1m' }));
    expect([await admits(first.a), await admits(first.b)]).toEqual([true, true]);
    const next = of(two({ limit: '2/1m' }));
    expect(next.b.restore(first.b.snapshot())).toEqual(['x']);
    expect(await admits(next.a)).toBe(false);
  });

  test('a wrong document is refused as a whole', () => {
    expect(() => policies(two({ limit: '2/1m' }, { per: 'key' }))).toThrow(
      /policies\.b\.steps\[1\]\.use\.per: found the unknown name "per"; allowed mechanism, name, shadow or description/,
    );
  });
});
