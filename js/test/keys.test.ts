import { expect, test } from 'vitest';
import { check, shared, words, x } from '../src/engine/engine.js';
import { SLOT_GENERATION, SLOT_SLOT } from '../src/generated/abi.js';
import { type Attributes, pipeline, rateLimiter } from '../src/index.js';
import { Keys } from '../src/pipeline/keys.js';
import { readSource } from '../src/pipeline/plan.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

test('numbers out of use are given again', () => {
  const policy = [{ limit: { rate: '1/1s', per: 'key', keys: 10_000 } }] as const;
  const { handle: plan, layout } = readSource(shared, policy, undefined).plan();
  const handle = check(x.pipeline(plan, 0, 0));
  const keys = new Keys(shared, handle);
  for (let i = 0; i < 100_000; i++) {
    keys.put(layout, `k${i}`, undefined);
    check(x.begin(handle, 1, 0, Number.NaN, i));
    const [slot, generation] = [words()[SLOT_SLOT] as number, words()[SLOT_GENERATION] as number];
    check(x.done(handle, slot, generation, 1, 1, Number.NaN, i));
  }
  // One is looked at as often as two come, so that at most as many again are out of use.
  expect(keys.known().length).toBeLessThan(21_000);
  expect(keys.known().length).toBeGreaterThan(9_999);
  x.free(handle);
});

test('a pipeline has room for any number of keys', async () => {
  const clock = virtualClock();
  const calls = pipeline([{ limit: { rate: '1/1h', per: 'key' } }, { breaker: { per: 'key' } }], { clock });
  const before = x.memory.buffer.byteLength;
  for (let i = 0; i < 500_000; i++) {
    const result = calls.attempt(() => i, { key: `k${i}` });
    if (i % 1000 === 0 && !(await result).ok) throw new Error(`${i} was refused`);
  }
  expect((await calls.attempt(() => 1, { key: 'k499999' })).ok).toBe(false);
  expect((await calls.attempt(() => 1, { key: 'k0' })).ok).toBe(true);
  expect(x.memory.buffer.byteLength - before).toBeLessThan(200 * 2 ** 20);
}, 120_000);

const keyed = (settings: object) =>
  pipeline([{ limit: { rate: '1/1h', per: ['key', 'ip'], ...settings } }], { clock: virtualClock() });
const ask = async (calls: ReturnType<typeof keyed>, key?: string, attributes?: Attributes) => {
  const result = await calls.attempt(() => 1, { ...(key && { key }), ...(attributes && { attributes }) });
  return result.ok ? 'ok' : result.reason;
};

test('the key that was used the longest time ago gives its cell up', async () => {
  const calls = keyed({ keys: 4 });
  for (const key of ['a', 'b', 'c', 'd']) expect(await ask(calls, key)).toBe('ok');
  expect(await ask(calls, 'a')).toBe('rate');
  expect(await ask(calls, 'e')).toBe('ok');
  expect([await ask(calls, 'a'), await ask(calls, 'b')]).toEqual(['rate', 'ok']);
});

test('keys above the bound share a cell', async () => {
  const calls = keyed({ keys: 2, when_full: 'share' });
  for (const key of ['a', 'b', 'c']) expect(await ask(calls, key)).toBe('ok');
  expect([await ask(calls, 'd'), await ask(calls, 'a')]).toEqual(['rate', 'rate']);
});

test('a call without a key shares a cell, is refused or passes', async () => {
  const partial = { ip: '' };
  const all = async (missing: string) => {
    const calls = keyed({ missing });
    return [
      await ask(calls),
      await ask(calls),
      await ask(calls, 'a', partial),
      await ask(calls, 'a', partial),
    ];
  };
  expect(await all('share')).toEqual(['ok', 'rate', 'ok', 'rate']);
  expect(await all('deny')).toEqual(['missing', 'missing', 'missing', 'missing']);
  expect(await all('skip')).toEqual(['ok', 'ok', 'ok', 'ok']);
  const calls = keyed({ missing: 'deny' });
  expect(await ask(calls, 'a', { ip: '10.0.0.1' })).toBe('ok');
  expect(await ask(calls, 'a', { ip: '10.0.0.1' })).toBe('rate');
});

test('an adaptive limit has a cost: a call takes as many places, or passes alone', () => {
  const calls = pipeline([{ adaptive: { initial: 4, maximum: 8, cost: 'header:x-size' } }], {
    clock: virtualClock(),
  });
  const ask = (size?: string) =>
    calls.tryAcquire(size ? { attributes: { 'header:x-size': size } } : { cost: 100 });
  const three = ask('3');
  const one = ask();
  expect([three.ok, one.ok]).toEqual([true, true]);
  expect([ask(), ask('9')]).toMatchObject([{ reason: 'full' }, { reason: 'capacity' }]);
  if (three.ok) three.success();
  expect(ask('4')).toMatchObject({ ok: false, reason: 'full' });
  if (one.ok) one.success();
  expect([ask('8').ok, ask().ok]).toEqual([true, false]);
  expect(() => pipeline([{ adaptive: { maximum: 5, cost: 6 } }])).toThrow(/cost/);
});

test('a limit has a cost of its own: a number, or that of an attribute', async () => {
  const calls = pipeline(
    [
      { limit: { name: 'requests', rate: '4/1h', cost: 1 } },
      { limit: { name: 'tokens', rate: '100/1h', cost: { attribute: 'header:x-tokens', default: 10 } } },
    ],
    { clock: virtualClock() },
  );
  const refusedBy = async (tokens?: string) => {
    const result = await calls.attempt(() => 1, {
      cost: 50,
      ...(tokens !== undefined && { attributes: { 'header:x-tokens': tokens } }),
    });
    return result.ok ? 'none' : `${result.step} ${result.reason}`;
  };
  expect(await refusedBy('80')).toBe('none');
  expect(await refusedBy()).toBe('none');
  expect(await refusedBy('1e1')).toBe('none');
  expect(await refusedBy('1')).toBe('tokens rate');
  expect(await refusedBy('99999999999')).toBe('tokens capacity');
  expect(await refusedBy('0')).toBe('none');
  expect(await refusedBy('0')).toBe('requests rate');
});

test('a limiter alone has no cost of its own', () => {
  expect(() => rateLimiter({ rate: '5/1s', cost: 1 } as object as { rate: '5/1s' })).toThrow(
    'limit.cost: found cost on a mechanism alone; allowed cost in a pipeline',
  );
});

test('a limit settles what an attempt used, and returns permits of outcomes that do not count', async () => {
  const settles = pipeline([{ limit: { rate: '10/1h', cost: 4, charge: 'settle' } }], {
    clock: virtualClock(),
  });
  const use = async (permits: number) => {
    const result = await settles.attempt((attempt) => attempt.used(permits));
    return result.ok ? 'ok' : result.reason;
  };
  expect(await use(1)).toBe('ok');
  expect(await use(5)).toBe('ok');
  expect(await use(9)).toBe('ok');
  expect(await use(0)).toBe('rate');
  const single = pipeline([{ retry: 1 }]);
  await expect(single.execute((attempt) => attempt.used(-1))).rejects.toThrow('used');

  const logins = pipeline([{ limit: { algorithm: 'sliding-log', rate: '2/1h', counts: ['fail'] } }], {
    clock: virtualClock(),
  });
  const login = async (good: boolean) => {
    const result = await logins
      .attempt(() => (good ? 1 : Promise.reject(new Error('wrong'))))
      .catch((error: Error) => ({ ok: false, reason: error.message }) as const);
    return result.ok ? 'ok' : result.reason;
  };
  expect([await login(true), await login(true), await login(true)]).toEqual(['ok', 'ok', 'ok']);
  expect([await login(false), await login(false)]).toEqual(['wrong', 'wrong']);
  expect(await login(true)).toBe('rate');
});
