import { atMost, awaited, called, rejecting, work } from '../kinds.mjs';

const OUT_OF_REACH = 1_000_000_000;

const ours = async () => {
  const { rateLimiter } = await import('@sluice/core');
  return rateLimiter({ rate: `${OUT_OF_REACH}/1s` });
};

const oursEmpty = async () => {
  const { rateLimiter } = await import('@sluice/core');
  const limiter = rateLimiter('1/1d');
  limiter.tryAcquire();
  return limiter;
};

const bucket = async (tokens, interval) => {
  const { TokenBucket } = await import('limiter');
  const bucket = new TokenBucket({ bucketSize: tokens, tokensPerInterval: tokens, interval });
  bucket.content = tokens;
  return bucket;
};

const windowed = async (tokens, interval) => {
  const { RateLimiter } = await import('limiter');
  return new RateLimiter({ tokensPerInterval: tokens, interval });
};

const flexible = async (points, duration) => {
  const { RateLimiterMemory } = await import('rate-limiter-flexible');
  return new RateLimiterMemory({ points, duration });
};

const admitted = ({ ok }) => ok;
const refused = ({ ok }) => !ok;

export default {
  title: 'Rate limiters',
  about: 'One limiter. Its rate is out of reach, or one permit a day that is already used.',
  cases: [
    {
      name: 'limiter admits',
      ours: {
        tryAcquire: {
          contender: called(async () => {
            const limiter = await ours();
            return () => limiter.tryAcquire();
          }, admitted),
          goal: atMost(25, 'performance.now alone'),
        },
      },
      peers: {
        'performance.now alone': called(() => () => performance.now(), Number.isFinite),
        'limiter TokenBucket': called(async () => {
          const limiter = await bucket(OUT_OF_REACH, 'second');
          return () => limiter.tryRemoveTokens(1);
        }),
        'limiter RateLimiter': called(async () => {
          const limiter = await windowed(OUT_OF_REACH, 'second');
          return () => limiter.tryRemoveTokens(1);
        }),
      },
    },
    {
      name: 'limiter refuses',
      ours: {
        tryAcquire: {
          contender: called(async () => {
            const limiter = await oursEmpty();
            return () => limiter.tryAcquire();
          }, refused),
          goal: atMost(100),
        },
      },
      peers: {
        'limiter TokenBucket': called(async () => {
          const limiter = await bucket(1, 'day');
          limiter.tryRemoveTokens(1);
          return () => !limiter.tryRemoveTokens(1);
        }),
        'limiter RateLimiter': called(async () => {
          const limiter = await windowed(1, 'day');
          limiter.tryRemoveTokens(1);
          return () => !limiter.tryRemoveTokens(1);
        }),
      },
    },
    {
      name: 'limiter admits, awaited',
      ours: {
        acquire: {
          contender: awaited(async () => {
            const limiter = await ours();
            return () => limiter.acquire();
          }, admitted),
        },
      },
      peers: {
        'limiter removeTokens': awaited(
          async () => {
            const limiter = await windowed(OUT_OF_REACH, 'second');
            return () => limiter.removeTokens(1);
          },
          (left) => left >= 0,
        ),
        'rate-limiter-flexible consume': awaited(
          async () => {
            const limiter = await flexible(OUT_OF_REACH * 1000, 3600);
            return () => limiter.consume('a');
          },
          ({ remainingPoints }) => remainingPoints > 0,
        ),
      },
    },
    {
      name: 'limiter refuses, awaited',
      ours: {
        acquire: {
          contender: awaited(async () => {
            const limiter = await oursEmpty();
            return () => limiter.acquire();
          }, refused),
        },
        'execute, thrown': {
          contender: rejecting(async () => {
            const limiter = await oursEmpty();
            return () => limiter.execute(work);
          }),
        },
      },
      peers: {
        'rate-limiter-flexible consume, thrown': rejecting(
          async () => {
            const limiter = await flexible(1, 86_400);
            await limiter.consume('a');
            return () => limiter.consume('a');
          },
          ({ msBeforeNext }) => msBeforeNext > 0,
        ),
      },
    },
    {
      name: 'limiter runs a function',
      ours: {
        execute: {
          contender: awaited(async () => {
            const limiter = await ours();
            return () => limiter.execute(work);
          }),
        },
      },
      peers: {
        'p-throttle': awaited(async () => {
          const { default: pThrottle } = await import('p-throttle');
          return pThrottle({ limit: OUT_OF_REACH, interval: 1000 })(work);
        }),
        'bottleneck schedule, no limits': awaited(async () => {
          const { default: Bottleneck } = await import('bottleneck');
          const limiter = new Bottleneck();
          return () => limiter.schedule(work);
        }),
      },
    },
  ],
};
