import { atMost, awaited, called, notAbove, rejecting } from '../kinds.mjs';

/** How many uses pass before the order of the keys repeats: a power of two. */
const ORDER = 2 ** 17;

/** As many keys of one form as asked for. */
export const keysOf = (count) =>
  Array.from({ length: count }, (_, i) => `customer-${String(i).padStart(8, '0')}`);

// The same order for all, drawn by a generator of Park and Miller: neighbours in
// it are none in memory.
function drawn(keys) {
  const order = new Uint32Array(ORDER);
  let seed = 1;
  for (let i = 0; i < ORDER; i++) {
    seed = (seed * 48_271) % 2_147_483_647;
    order[i] = seed % keys.length;
  }
  let at = 0;
  return () => keys[order[at++ & (ORDER - 1)]];
}

async function ours(count, rate) {
  const { rateLimiter } = await import('@sluice/core');
  const limiter = rateLimiter.keyed({ rate, keys: 2 * count });
  const keys = keysOf(count);
  for (const key of keys) limiter.tryAcquire(key);
  return { limiter, next: drawn(keys) };
}

async function flexible(count, points, duration) {
  const { RateLimiterMemory } = await import('rate-limiter-flexible');
  const limiter = new RateLimiterMemory({ points, duration });
  const keys = keysOf(count);
  for (const key of keys) await limiter.consume(key);
  return { limiter, next: drawn(keys) };
}

const tryAcquire = (count) =>
  called(
    async () => {
      const { limiter, next } = await ours(count, '1000000000/1s');
      return () => limiter.tryAcquire(next());
    },
    ({ ok }) => ok,
  );

const acquire = (count) =>
  awaited(
    async () => {
      const { limiter, next } = await ours(count, '1000000000/1s');
      return () => limiter.acquire(next());
    },
    ({ ok }) => ok,
  );

const consume = (count) =>
  awaited(
    async () => {
      const { limiter, next } = await flexible(count, 1e12, 3600);
      return () => limiter.consume(next());
    },
    ({ remainingPoints }) => remainingPoints > 0,
  );

const sized = (size, count, goal, others) => ({
  name: `keyed limiter, ${size}`,
  ours: {
    tryAcquire: { contender: tryAcquire(count), goal },
    acquire: { contender: acquire(count), goal },
  },
  peers: others,
});

const FLEXIBLE = 'rate-limiter-flexible consume';

export default {
  title: 'Rate limiters per key',
  about:
    'All keys are known, and drawn at random in the same order for all. The peer has no form that is not awaited.',
  cases: [
    sized('1 key', 1, undefined, { [FLEXIBLE]: consume(1) }),
    sized('10,000 keys', 10_000, undefined, { [FLEXIBLE]: consume(10_000) }),
    sized('100,000 keys', 100_000, notAbove(`${FLEXIBLE}, 10,000 keys`), {
      [`${FLEXIBLE}, 10,000 keys`]: consume(10_000),
      [`${FLEXIBLE}, 100,000 keys`]: consume(100_000),
    }),
    {
      name: 'keyed limiter refuses, 10,000 keys',
      ours: {
        tryAcquire: {
          contender: called(
            async () => {
              const { limiter, next } = await ours(10_000, '1/1d');
              return () => limiter.tryAcquire(next());
            },
            ({ ok }) => !ok,
          ),
          goal: atMost(100),
        },
      },
      peers: {
        'rate-limiter-flexible consume, thrown': rejecting(
          async () => {
            const { limiter, next } = await flexible(10_000, 1, 86_400);
            return () => limiter.consume(next());
          },
          ({ msBeforeNext }) => msBeforeNext > 0,
        ),
      },
    },
  ],
};
