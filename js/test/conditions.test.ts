import { BlockList } from 'node:net';
import { expect, test } from 'vitest';
import { clientOf, lies, prefixOf } from '../src/base/prefixes.js';
import { type Attributes, policy } from '../src/index.js';
import { belongs } from '../src/pipeline/conditions.js';
import { credentialOf, trimmed } from '../src/pipeline/credentials.js';
import type { Policy } from '../src/pipeline/policy.js';
import { bytesOf } from '../src/reader/bytes.js';
import { attributesOf } from '../src/servers/attributes.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const calls = (body: Policy) => policy(body, { clock: virtualClock() });
const ask = async (to: ReturnType<typeof calls>, attributes: Attributes = {}, key = '') => {
  const result = await to.attempt(() => 1, { key, attributes });
  return result.ok ? 'ok' : `${result.step} ${result.reason}`;
};

test('an address lies in a prefix', () => {
  const inside = (address: string, prefix: string): boolean =>
    lies(clientOf(address) as never, prefixOf(prefix) as never);
  expect(inside('10.255.0.1', '10.0.0.0/8')).toBe(true);
  expect(inside('::ffff:10.0.0.1', '10.0.0.0/8')).toBe(true);
  expect(inside('11.0.0.1', '10.0.0.0/8')).toBe(false);
  expect(inside('2001:db8:1:2::/64', '2001:DB8::/32')).toBe(true);
  expect(inside('2001:db8::/64', '2001:db8::1')).toBe(false);
  expect(inside('2001:db8:1:2::5/64', '2001:db8:1:2::5')).toBe(true);
  expect(inside('2001:db8:1:2::5/64', '2001:db8:1:2::6')).toBe(false);
  expect(inside('[fe80::1%eth0]:80/64', 'FE80::1')).toBe(true);
  expect(inside('10.0.0.1', '::/0')).toBe(false);
  expect(inside('fe80::1', '::/0')).toBe(true);
  for (const text of [
    '',
    '10.0.0',
    '10.0.0.0.0',
    '010.0.0.1',
    '256.0.0.1',
    '1:2',
    ':::',
    '1::2::3',
    '10.0.0.0/33',
    '::/129',
    '::/01',
    'g::',
    '::1%eth0',
    '1:2:3:4:5:6:7::8:9',
    '7',
  ]) {
    expect([text, prefixOf(text)]).toEqual([text, undefined]);
  }
  expect(prefixOf('1:2:3:4:5:6:192.0.2.1')?.groups).toEqual([1, 2, 3, 4, 5, 6, 0xc000, 0x0201]);
});

/** Numbers that a seed gives, from 0 to below n. */
const drawer = (seed: number) => {
  let state = seed;
  return (n: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
};

// The whole path: a request in the form of a framework, deny, and the key of a limit, against net.BlockList of Node.
test('a deny compares the whole address, and the key is cut', async () => {
  const draw = drawer(Number(process.env.SLUICE_SEED ?? 1));
  const group = (): string => [0, 0, 0, 1, 0x8000, 0xffff][draw(6)]?.toString(16) as string;
  let met = 0;
  for (let i = 0; i < 1000; i++) {
    const v4 = draw(3) === 0;
    const address = v4
      ? `10.${draw(2)}.${draw(256)}.${draw(2)}`
      : `2001:db8:${Array.from({ length: 6 }, group).join(':')}`;
    const bits = draw(v4 ? 33 : 129);
    let network = address;
    if (draw(2)) {
      const at = draw(v4 ? 32 : 128);
      const parts = address.split(v4 ? '.' : ':').map((part) => Number.parseInt(part, v4 ? 10 : 16));
      const size = v4 ? 8 : 16;
      parts[Math.floor(at / size)] =
        (parts[Math.floor(at / size)] as number) ^ (1 << (size - 1 - (at % size)));
      network = parts.map((part) => part.toString(v4 ? 10 : 16)).join(v4 ? '.' : ':');
    }
    const list = new BlockList();
    list.addSubnet(network, bits, v4 ? 'ipv4' : 'ipv6');
    const want = list.check(address, v4 ? 'ipv4' : 'ipv6');
    if (want && bits > 64) met++;
    const shown = [
      address,
      address.toUpperCase(),
      v4 ? `::ffff:${address}` : `${address}%eth0`,
      v4 ? `${address}:80` : `[${address}]:80`,
    ];
    const ip = shown[draw(4)] as string;
    const to = calls({ deny: { ip: `${network}/${bits}` }, steps: [{ limit: { rate: '1/1h', per: 'ip' } }] });
    const of = attributesOf({ method: 'GET', url: '/', header: () => undefined, ip });
    expect([ip, network, bits, await ask(to, of)]).toEqual([ip, network, bits, want ? 'deny denied' : 'ok']);
    if (!want && !v4) {
      const cut = [...address.split(':').slice(0, 4), 0, 0, 0, 0].join(':');
      expect(to.step('limit').keys()).toEqual([`${new URL(`http://[${cut}]`).hostname.slice(1, -1)}/64`]);
    }
  }
  expect(met).toBeGreaterThan(20);
});

test('a credential is one in all spellings', async () => {
  const to = calls({ deny: { 'header:authorization': 'Bearer  T' }, steps: [{ bulkhead: 1 }] });
  const of = (authorization: string) => ask(to, { 'header:authorization': authorization });
  for (const one of ['Bearer T', 'bearer T', ' BEARER \t T ']) expect(await of(one), one).toBe('deny denied');
  for (const one of ['bearer t', 'Bearer', 'T', '']) expect(await of(one), one).toBe('ok');
});

// Each pattern that tried all beginnings would not end in the time of a test.
test('what a client sends is read in one pass', () => {
  const many = 1_000_000;
  expect(credentialOf(`  Bearer T${' '.repeat(many)}T `)).toBe(`bearer T${' '.repeat(many)}T`);
  expect(trimmed(`${' '.repeat(many)}T\t${' '.repeat(many)}`)).toBe('T');
  for (const text of [`[${':'.repeat(many)}`, ':'.repeat(many), `[${':'.repeat(many)}%`]) {
    expect(clientOf(text)).toBeUndefined();
  }
});

test('a share is that of the core', () => {
  // The first hash below each is the hash of core/condition.
  for (const [value, hash] of [
    ['', 0x4cf5e862],
    ['ada', 0x8181c92a],
    ['ü', 0xf55ee405],
  ] as const) {
    const part = Math.floor((hash * 1e6) / 2 ** 32);
    expect(belongs(part + 1, bytesOf('limit'), value)).toBe(true);
    expect(belongs(part, bytesOf('limit'), value)).toBe(false);
  }
});

test('a step applies to the calls that match', async () => {
  const to = calls({
    steps: [{ limit: { rate: '1/1h', when: { 'header:plan': ['free'], not: { ip: '10.0.0.0/8' } } } }],
  });
  const free = { 'header:plan': 'free' };
  expect([await ask(to, free), await ask(to, free), await ask(to)]).toEqual(['ok', 'limit rate', 'ok']);
  expect(await ask(to, { ...free, ip: '10.1.2.3' })).toBe('ok');
  expect(to.quotas({ attributes: free }).map(({ step }) => step)).toEqual(['limit']);
  expect(to.quotas({})).toEqual([]);
});

test('a call takes from the limit of its class', async () => {
  const to = calls({
    steps: [
      { limit: { rate: '1/1h', class: 'header:plan', rates: { free: '2/1h', pro: '3/1h' } } },
      { bulkhead: 5 },
    ],
  });
  for (const [plan, most, step] of [
    ['free', 2, 'limit-free'],
    ['pro', 3, 'limit-pro'],
    ['gold', 1, 'limit'],
  ] as const) {
    const got = [];
    for (let i = 0; i <= most; i++) got.push(await ask(to, { 'header:plan': plan }));
    expect(got).toEqual([...Array(most).fill('ok'), `${step} rate`]);
    const [quota, ...more] = to.quotas({ attributes: { 'header:plan': plan } });
    expect([quota?.step, quota?.limit, more]).toEqual([step, most, []]);
  }
});

test('a policy allows and denies calls', async () => {
  const to = calls({ allow: { key: 'admin' }, deny: { ip: '192.0.2.0/24' }, steps: [{ limit: '1/1h' }] });
  const told: unknown[] = [];
  to.on('admit', ({ reason }) => told.push(reason));
  expect([await ask(to), await ask(to)]).toEqual(['ok', 'limit rate']);
  expect([await ask(to, {}, 'admin'), await ask(to, {}, 'admin')]).toEqual(['ok', 'ok']);
  expect(await ask(to, { ip: '192.0.2.1' }, 'admin')).toBe('deny denied');
  expect(told).toEqual([undefined, 'allowed', 'allowed']);
});

test('a step enforces for a share of the calls', async () => {
  const to = calls({
    steps: [{ limit: { rate: '1/1h', name: 'limit', enforce: { share: '50%', by: 'key' } } }],
  });
  expect(await ask(to)).toBe('ok');
  expect([await ask(to, {}, 'ada'), await ask(to, {}, 'bob')]).toEqual(['ok', 'limit rate']);
  const drawn = calls({ steps: [{ limit: { rate: '1/1h', enforce: '30%' } }] });
  let refused = 0;
  for (let i = 0; i < 500; i++) if ((await ask(drawn)) !== 'ok') refused++;
  expect(refused).toBeGreaterThan(100);
  expect(refused).toBeLessThan(200);
});

test('a call that may not wait is refused as the step decides', () => {
  const twice = (to: ReturnType<typeof calls>, options = {}): unknown[] => [
    to.tryAcquire(options).ok,
    to.tryAcquire(options),
  ];
  const refused = { ok: false, step: 'limit', reason: 'rate' };

  const wait = '1h';
  expect(twice(calls({ steps: [{ limit: { rate: '1/1m', wait, per: 'key' } }] }))).toEqual([
    true,
    { ...refused, retryAfter: 60_000 },
  ]);
  expect(twice(calls({ steps: [{ limit: { rate: '10/10s', wait, cost: 8 } }] }))).toEqual([
    true,
    { ...refused, retryAfter: 6000 },
  ]);
  const cost = { attribute: 'header:x-size', default: 9 } as const;
  const of = (size: string) => ({ attributes: { 'header:x-size': size } });
  expect(twice(calls({ steps: [{ limit: { rate: '10/10s', wait, cost } }] }), of('7'))[1]).toEqual({
    ...refused,
    retryAfter: 4000,
  });
  expect(twice(calls({ steps: [{ limit: { rate: '10/10s', wait, cost } }] }), of('x'))[1]).toEqual({
    ...refused,
    retryAfter: 8000,
  });
  expect(twice(calls({ steps: [{ bulkhead: { concurrent: 3, queue: 1, cost: 2 } }] }))[1]).toMatchObject({
    reason: 'full',
  });
  expect(twice(calls({ steps: [{ bulkhead: { concurrent: 3, queue: 1 } }] }), { cost: 9 })).toMatchObject([
    true,
    { ok: true },
  ]);

  const share = calls({
    steps: [{ limit: { rate: '1/1m', wait, per: 'key', enforce: { share: '0.0001%', by: 'key' } } }],
  });
  expect(twice(share, { key: 'bob' })).toMatchObject([true, { ok: true }]);
  for (const missing of ['skip', 'deny'] as const) {
    const to = calls({ steps: [{ limit: { rate: '1/1m', wait, per: 'key', missing } }] });
    expect([to.tryAcquire().ok, to.tryAcquire().ok]).toEqual(
      missing === 'skip' ? [true, true] : [false, false],
    );
    expect(to.quotas()).toHaveLength(missing === 'skip' ? 0 : 1);
  }
  const blocks = calls({
    steps: [{ limit: { rate: '1/1m', block: '1h' } }, { bulkhead: { concurrent: 9, queue: 1 } }],
  });
  expect(twice(blocks)[1]).toEqual({ ...refused, retryAfter: 3_600_000 });
  expect(blocks.tryAcquire()).toMatchObject({ reason: 'blocked' });
});
