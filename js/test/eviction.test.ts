// Which key gives way at a full table. In a file of its own: it makes many keys.

import { expect, test } from 'vitest';
import { pipeline, rateLimiter } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

/** A generator of whole numbers below a bound. */
function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const blocking = { rate: '1/1m', burst: 2, block: '1h' } as const;

test('names that are invented do not end a block', () => {
  const clock = virtualClock();
  const logins = rateLimiter.keyed({ ...blocking, keys: 1000, clock });
  for (let i = 0; i < 3; i++) logins.tryAcquire('victim');
  for (let i = 0; i < 20_000; i++) logins.tryAcquire(`name ${i}`);
  expect(logins.tryAcquire('victim')).toMatchObject({ ok: false, reason: 'blocked' });
  expect(logins.counts.evictions).toBeGreaterThan(18_000);
});

test('nor do they give permits back', () => {
  const clock = virtualClock();
  const limit = rateLimiter.keyed({ rate: '2/1h', keys: 1000, clock });
  for (let i = 0; i < 3; i++) limit.tryAcquire('victim');
  for (let i = 0; i < 20_000; i++) limit.tryAcquire(`name ${i}`);
  expect(limit.tryAcquire('victim')).toMatchObject({ ok: false, reason: 'rate' });
});

test('half of the keys may have a block', () => {
  const clock = virtualClock();
  const logins = rateLimiter.keyed({ ...blocking, keys: 10, clock });
  const reasons = Array.from({ length: 8 }, (_, i) => {
    for (let n = 0; n < 3; n++) logins.tryAcquire(`name ${i}`);
    const last = logins.tryAcquire(`name ${i}`);
    return last.ok ? 'ok' : last.reason;
  });
  expect(reasons).toEqual([...Array(5).fill('blocked'), ...Array(3).fill('rate')]);
  expect(logins.counts).toMatchObject({ keys: 8, evictions: 0, unblocked: 6 });
  logins.reset('name 0');
  logins.tryAcquire('name 7');
  expect(logins.tryAcquire('name 7')).toMatchObject({ reason: 'blocked' });
});

// The table of a limiter alone is written here, the table of a pipeline in the module.
test.each([
  ['token bucket', { rate: '2/1s' }],
  ['fixed window', { rate: '2/1s', algorithm: 'fixed-window' }],
  ['sliding counter', { rate: '3/1s', algorithm: 'sliding-counter' }],
  ['sliding log', { rate: '2/1s', algorithm: 'sliding-log' }],
  ['leaky bucket', { rate: '2/1s', algorithm: 'leaky-bucket' }],
  ['blocks', { rate: '2/1s', block: '3s' }],
  ['blocks after two', { rate: '1/1s', block: { after: 2, for: { linear: '1s', max: '3s' } } }],
] as const)('%s: a keyed limiter and a pipeline forget the same keys', async (_, limit) => {
  const refused = new Set<string>();
  for (let seed = 1; seed <= 12; seed++) {
    const draw = drawing(seed);
    const keys = 1 + draw(9);
    const clock = virtualClock();
    const alone = rateLimiter.keyed({ ...limit, keys, clock });
    const steps = pipeline([{ limit: { ...limit, per: 'key', keys } }], { clock });
    for (let step = 0; step < 400; step++) {
      if (draw(3) === 0) await clock.advance(draw(800));
      const key = `k${draw(2 * keys + 2)}`;
      const [one, other] = [alone.tryAcquire(key), steps.tryAcquire({ key })];
      const told = (x: { ok: boolean; reason?: string; retryAfter?: number | undefined }) =>
        x.ok ? 'ok' : `${x.reason} ${x.retryAfter?.toFixed(3)}`;
      const what = `seed ${seed}, step ${step}, key ${key} of ${keys}`;
      expect(`${what}: ${told(one)}`).toBe(`${what}: ${told(other)}`);
      if (!one.ok) refused.add(one.reason);
    }
  }
  expect(refused.size).toBe('block' in limit ? 2 : 1);
});
