import { atMost, once, WORTH, work } from '../kinds.mjs';

/** The milliseconds from before the import of a package to its first decision. */
const first = (load, decide) =>
  once('ms', 3, async () => {
    const start = performance.now();
    const decision = await decide(await load());
    const spent = performance.now() - start;
    if (!decision) throw new Error('the first decision is another than the case is about');
    return spent;
  });

const sluice = () => import('@sluice/core');
const cockatiel = () => import('cockatiel');
const cockatiel4 = () => import('cockatiel-4');

const limits = ({ rateLimiter }) => rateLimiter('100/1m').tryAcquire().ok;

const breaks = async ({ circuitBreaker }) => (await circuitBreaker().execute(work)) === WORTH;

const breaksTheirs = async ({ circuitBreaker, ConsecutiveBreaker, handleAll }) =>
  (await circuitBreaker(handleAll, { halfOpenAfter: 60_000, breaker: new ConsecutiveBreaker(5) }).execute(
    work,
  )) === WORTH;

const retries = async ({ retry }) => (await retry(3).execute(work)) === WORTH;

const retriesTheirs = async ({ retry, handleAll }) =>
  (await retry(handleAll, { maxAttempts: 2 }).execute(work)) === WORTH;

const calls = async ({ default: retry }) => (await retry(work, { retries: 2 })) === WORTH;

export default {
  title: 'Cold start',
  about:
    'Milliseconds from before the import to after the first decision, in a fresh process, the files in the cache of the system.',
  cases: [
    {
      name: 'cold limiter',
      ours: {
        '@sluice/core': { contender: first(sluice, limits), goal: atMost(10) },
        '@sluice/core/limiter': { contender: first(() => import('@sluice/core/limiter'), limits) },
        '@sluice/core/js': { contender: first(() => import('@sluice/core/js'), limits) },
      },
      peers: {
        limiter: first(
          () => import('limiter'),
          ({ RateLimiter }) =>
            new RateLimiter({ tokensPerInterval: 100, interval: 'minute' }).tryRemoveTokens(1),
        ),
        'rate-limiter-flexible': first(
          () => import('rate-limiter-flexible'),
          async ({ RateLimiterMemory }) =>
            (await new RateLimiterMemory({ points: 100, duration: 60 }).consume('a')).remainingPoints === 99,
        ),
        bottleneck: first(
          () => import('bottleneck'),
          async ({ default: Bottleneck }) => (await new Bottleneck().schedule(work)) === WORTH,
        ),
      },
    },
    {
      name: 'cold breaker',
      ours: {
        '@sluice/core': { contender: first(sluice, breaks) },
        '@sluice/core/breaker': { contender: first(() => import('@sluice/core/breaker'), breaks) },
      },
      peers: {
        cockatiel: first(cockatiel, breaksTheirs),
        'cockatiel 4': first(cockatiel4, breaksTheirs),
        opossum: first(
          () => import('opossum'),
          async ({ default: CircuitBreaker }) => (await new CircuitBreaker(work).fire()) === WORTH,
        ),
      },
    },
    {
      name: 'cold retry',
      ours: {
        '@sluice/core': { contender: first(sluice, retries) },
        '@sluice/core/retry': { contender: first(() => import('@sluice/core/retry'), retries) },
      },
      peers: {
        cockatiel: first(cockatiel, retriesTheirs),
        'p-retry': first(() => import('p-retry'), calls),
        'async-retry': first(() => import('async-retry'), calls),
      },
    },
  ],
};
