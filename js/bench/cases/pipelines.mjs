import { atMostTimes, CLOCK, awaited, failing, WORTH, work } from '../kinds.mjs';

const FALLBACK = 7;

const stoppable = async ({ signal }) => (signal.aborted ? 0 : WORTH);

const retry = { retry: { attempts: 3, backoff: { exponential: '200ms' } } };
const breaker = { breaker: { window: { consecutive: 5 } } };
const tripped = { breaker: { window: { consecutive: 1 }, open: '1h' } };
const timeout = { timeout: '10s' };
const bulkhead = { bulkhead: 10 };

const ours = async (steps, options) => {
  const { pipeline, policy } = await import('@sluice/core');
  return options ? policy({ steps, fallback: {} }, options) : pipeline(steps);
};

const covered = { fallback: () => FALLBACK };

const oursExecutes = (steps, options, task) =>
  awaited(async () => {
    const policy = await ours(steps, options);
    return () => policy.execute(task);
  });

/** Stages of cockatiel. Its retry leaves refusals of the breaker alone, as ours does. */
const stages = (its, failures) => ({
  fallback: its.fallback(its.handleAll, FALLBACK),
  retry: its.retry(
    its.handleWhen((error) => !its.isBrokenCircuitError(error)),
    { maxAttempts: 2, backoff: new its.ExponentialBackoff() },
  ),
  breaker: its.circuitBreaker(its.handleAll, {
    halfOpenAfter: 3_600_000,
    breaker: new its.ConsecutiveBreaker(failures),
  }),
  timeout: its.timeout(10_000, its.TimeoutStrategy.Aggressive),
  outer: its.timeout(30_000, its.TimeoutStrategy.Aggressive),
  bulkhead: its.bulkhead(10),
});

const FIVE = ['fallback', 'retry', 'breaker', 'timeout', 'bulkhead'];
const FIVE_STEPS = ['outer', 'retry', 'breaker', 'bulkhead', 'timeout'];

const wrapped = (its, names, failures = 5) => {
  const all = stages(its, failures);
  return its.wrap(...names.map((name) => all[name]));
};

const cockatielExecutes = (version, names, task) =>
  awaited(async () => {
    const policy = wrapped(await import(version), names);
    return () => policy.execute(task);
  });

const cockatielRefuses = (version) =>
  awaited(
    async () => {
      const policy = wrapped(await import(version), FIVE, 1);
      await policy.execute(failing);
      return () => policy.execute(work);
    },
    (value) => value === FALLBACK,
  );

/** Ten reads of the clock. */
const READS = atMostTimes(10, 'performance.now alone');

const five = (name, task, goal) => ({
  name,
  ours: {
    'policy with a fallback': {
      contender: oursExecutes([retry, breaker, timeout, bulkhead], covered, task),
      goal,
    },
  },
  peers: {
    ...CLOCK,
    'cockatiel wrap': cockatielExecutes('cockatiel', FIVE, task),
    'cockatiel 4 wrap': cockatielExecutes('cockatiel-4', FIVE, task),
  },
});

export default {
  title: 'Pipelines',
  about:
    'Fallback, retry, breaker, timeout, bulkhead, outermost first; then five steps without a fallback: timeout, retry, breaker, bulkhead, timeout.',
  cases: [
    five('five stages', work, READS),
    five('five stages, the signal is read', stoppable),
    {
      name: 'five steps',
      ours: {
        pipeline: {
          contender: oursExecutes([{ timeout: '30s' }, retry, breaker, bulkhead, timeout], undefined, work),
          goal: READS,
        },
      },
      peers: {
        ...CLOCK,
        'cockatiel wrap': cockatielExecutes('cockatiel', FIVE_STEPS, work),
        'cockatiel 4 wrap': cockatielExecutes('cockatiel-4', FIVE_STEPS, work),
      },
    },
    {
      name: 'five stages, the breaker is open',
      ours: {
        'execute, the fallback': {
          contender: awaited(
            async () => {
              const policy = await ours([retry, tripped, timeout, bulkhead], covered);
              await policy.execute(failing);
              return () => policy.execute(work);
            },
            (value) => value === FALLBACK,
          ),
        },
        'attempt, a value': {
          contender: awaited(
            async () => {
              const policy = await ours([retry, tripped, timeout, bulkhead]);
              await policy.execute(failing).catch(() => {});
              return () => policy.attempt(work);
            },
            ({ reason }) => reason === 'open',
          ),
        },
      },
      peers: {
        'cockatiel wrap, the fallback': cockatielRefuses('cockatiel'),
        'cockatiel 4 wrap, the fallback': cockatielRefuses('cockatiel-4'),
      },
    },
  ],
};
