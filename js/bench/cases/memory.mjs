import { once } from '../kinds.mjs';
import { keysOf } from './keyed.mjs';

const KEYS = 100_000;

/** The bytes that a key takes, without the key itself. `ready` returns a function that is called with each key. */
const perKey = (ready) =>
  once('B', 1, async () => {
    const [first, ...keys] = keysOf(KEYS + 1);
    const add = await ready();
    await add(first);
    const before = used();
    for (const key of keys) await add(key);
    const grown = used() - before;
    // Nothing of it may have been collected as garbage: it is all still in use.
    for (const key of keys) await add(key);
    return grown / KEYS;
  });

function used() {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export default {
  title: 'Memory per key',
  about:
    'Growth of the heap and of the memory of the module by 100,000 keys, in bytes a key, without the keys themselves.',
  cases: [
    {
      name: 'memory per key, 100,000 keys',
      ours: {
        'rateLimiter.keyed': {
          contender: perKey(async () => {
            const { rateLimiter } = await import('@sluice/core');
            const limiter = rateLimiter.keyed({ rate: '100/1h', keys: 2 * KEYS });
            return (key) => limiter.tryAcquire(key);
          }),
        },
      },
      peers: {
        'rate-limiter-flexible': perKey(async () => {
          const { RateLimiterMemory } = await import('rate-limiter-flexible');
          const limiter = new RateLimiterMemory({ points: 100, duration: 3600 });
          return (key) => limiter.consume(key);
        }),
        'limiter TokenBucket, a Map of them': perKey(async () => {
          const { TokenBucket } = await import('limiter');
          const buckets = new Map();
          return (key) => {
            let bucket = buckets.get(key);
            if (!bucket) {
              bucket = new TokenBucket({ bucketSize: 100, tokensPerInterval: 100, interval: 'hour' });
              buckets.set(key, bucket);
            }
            return bucket.tryRemoveTokens(1);
          };
        }),
      },
    },
  ],
};
