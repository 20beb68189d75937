// The smallest entry decides as the entry of all limiters does: both as they are shipped, after `npm run build`.

import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type * as Limiter from '../src/entry/limiter.js';
import type * as TokenBucket from '../src/entry/token-bucket.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const dist = new URL('../dist/', import.meta.url);
const built = existsSync(new URL('core.js', dist));
const load = async <T>(name: string): Promise<T> =>
  (await import(new URL(`entry/${name}.js`, dist).href)) as T;

/** Numbers from 0 to below 1 (Marsaglia, Xorshift RNGs, 2003). */
function numbers(seed: number): () => number {
  let x = seed;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}

describe.skipIf(!built)('token buckets alone', async () => {
  const whole = built ? await load<typeof Limiter>('limiter') : (undefined as never);
  const small = built ? await load<typeof TokenBucket>('token-bucket') : (undefined as never);

  test('they decide as limiters, and take over their state', async () => {
    const random = numbers(7);
    const upTo = (most: number): number => Math.floor(random() * (most + 1));
    let refused = 0;
    for (let history = 0; history < 60; history++) {
      const clock = virtualClock();
      const burst = 1 + upTo(5);
      const options = { rate: `${1 + upTo(9)}/${1 + upTo(2000)}ms`, burst, clock, name: 'a' } as const;
      let one = small.rateLimiter(options);
      const other = whole.rateLimiter(options);
      const at = `history ${history}, ${JSON.stringify(options.rate)}`;
      for (let step = 0; step < 200; step++) {
        await clock.advance(upTo(3) === 0 ? upTo(1500) : random() * 20);
        const cost = upTo(burst + 1);
        const [got, want] = [one.tryAcquire({ cost }), other.tryAcquire({ cost })];
        expect(got, `${at}, step ${step}`).toEqual(want);
        expect(one.peek({ cost: 1 }), `${at}, step ${step}`).toEqual(other.peek({ cost: 1 }));
        expect(one.quota(), `${at}, step ${step}`).toEqual(other.quota());
        if (upTo(100) === 0) for (const limiter of [one, other]) limiter.reset();
        if (!got.ok) refused++;
        if (upTo(30) > 0) continue;
        const saved = other.snapshot();
        expect(one.snapshot().steps).toEqual(saved.steps);
        one.dispose();
        one = small.rateLimiter(options);
        expect(one.restore(saved)).toBe(true);
      }
      expect(await one.attempt(() => 1)).toEqual(await other.attempt(() => 1));
    }
    expect(refused).toBeGreaterThan(1000);
  });

  test('they have keys', () => {
    const clock = virtualClock();
    const options = { rate: '2/1h', keys: 3, clock } as const;
    const random = numbers(9);
    const [one, other] = [small.rateLimiter.keyed(options), whole.rateLimiter.keyed(options)];
    for (let step = 0; step < 2000; step++) {
      const key = `k${Math.floor(random() * 5)}`;
      expect(one.tryAcquire(key)).toEqual(other.tryAcquire(key));
    }
    expect(one.counts).toEqual(other.counts);
    expect(one.counts.evictions).toBeGreaterThan(100);
  });

  test('a state of another mechanism, rate or of callers that waited is not taken', async () => {
    const bucket = small.rateLimiter('5/1s');
    expect(bucket.restore(whole.rateLimiter('6/1s').snapshot())).toBe(false);
    expect(bucket.restore(whole.rateLimiter({ rate: '5/1s', algorithm: 'fixed-window' }).snapshot())).toBe(
      false,
    );
    const clock = virtualClock();
    const queue = whole.rateLimiter({ rate: '5/1s', wait: '1s', clock });
    queue.tryAcquire({ cost: 5 });
    const waits = queue.acquire();
    await clock.advance(1000);
    await waits;
    expect(bucket.restore(queue.snapshot())).toBe(false);
    expect(bucket.tryAcquire({ cost: 5 }).ok).toBe(true);
  });

  test('objects that were freed leave their places', () => {
    for (let i = 0; i < 20_000; i++) small.rateLimiter('1/1s').dispose();
    const many = Array.from({ length: 2000 }, () => small.rateLimiter('1/1s'));
    expect(many.every((one) => one.tryAcquire().ok && !one.tryAcquire().ok)).toBe(true);
  });

  test.each<unknown>([
    'x',
    5,
    null,
    [],
    {},
    { rate: 5 },
    { rate: '5' },
    { rate: '5/0s' },
    { rate: '0/1s' },
    { rate: '5/1s', burst: 0 },
    { rate: '5/1s', burst: 1.5 },
    { rate: '5/1s', burst: 2e9 },
    { rate: '5/1s', name: 'A' },
    { rate: '5/1s', shadow: 1 },
    { rate: '9/1ns' },
    { rate: '1/1000d', burst: 1e9 },
    '1000/100000d',
    { rate: '1/53376d' },
  ])('the options %o are wrong at the same place', (options) => {
    const problemOf = (make: () => unknown): { path: string; code: string } => {
      try {
        make();
      } catch (error) {
        const { code, problems } = error as Limiter.PolicyError;
        return { path: (problems[0] as Limiter.Problem).path, code };
      }
      throw new Error('no error');
    };
    const place = problemOf(() => small.rateLimiter(options as never));
    expect(place).toEqual(problemOf(() => whole.rateLimiter(options as never)));
  });

  test('what is for a queue or another algorithm is unknown', () => {
    for (const more of [{ wait: '1s' }, { algorithm: 'fixed-window' }, { queue: 5 }, { order: 'newest' }]) {
      expect(() => small.rateLimiter({ rate: '1/1s', ...more } as never)).toThrow('found the unknown name');
    }
  });
});
