import { createRequire } from 'node:module';
import { awaited, called, WORTH, work } from '../kinds.mjs';

// An entry decides for all that is imported after it. What is required is another copy, with an entry of its own.
const require = createRequire(import.meta.url);
const copies = {
  '@sluice/core': () => import('@sluice/core'),
  '@sluice/core/js': async () => require('@sluice/core/js'),
};

/** How often each copy is used before: the engine compiles the JavaScript of the core when it has run for a while. */
const USED = 20_000;

/** Makes a use of one copy, in a process that has used both. */
const beside =
  (entry, make) =>
  async ({ small }) => {
    const uses = {};
    for (const [copy, load] of Object.entries(copies)) {
      uses[copy] = make(await load());
      for (let i = 0; i < (small ? 10 : USED); i++) await uses[copy]();
    }
    return uses[entry];
  };

/** A case of both copies. */
const both = (name, kind, make, right) => ({
  name,
  ours: { '@sluice/core/js': { contender: kind(beside('@sluice/core/js', make), right) } },
  peers: { '@sluice/core': kind(beside('@sluice/core', make), right) },
});

const isWorth = (value) => value === WORTH;

export default {
  title: 'Without WebAssembly',
  about:
    '`@sluice/core/js`, where the core is JavaScript, beside the module for servers. Each process has used both.',
  cases: [
    both(
      'token bucket, without WebAssembly',
      called,
      ({ rateLimiter }) => {
        const limiter = rateLimiter('1000000000/1s');
        return () => limiter.tryAcquire();
      },
      ({ ok }) => ok,
    ),
    both(
      'breaker, without WebAssembly',
      awaited,
      ({ circuitBreaker }) => {
        const breaker = circuitBreaker({ window: { time: '10s', buckets: 10 } });
        return () => breaker.execute(work);
      },
      isWorth,
    ),
    both(
      'five steps, without WebAssembly',
      awaited,
      ({ pipeline }) => {
        const policy = pipeline([
          { timeout: '30s' },
          { retry: { attempts: 3, backoff: { exponential: '200ms' } } },
          { breaker: { window: { consecutive: 5 } } },
          { bulkhead: 10 },
          { timeout: '10s' },
        ]);
        return () => policy.execute(work);
      },
      isWorth,
    ),
  ],
};
