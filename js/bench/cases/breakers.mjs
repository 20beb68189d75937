import { atMost, awaited, called, failing, notAbove, rejecting, work } from '../kinds.mjs';

const ours = async (window) => {
  const { circuitBreaker } = await import('@sluice/core');
  return circuitBreaker({ window });
};

const oursOpen = async () => {
  const { circuitBreaker } = await import('@sluice/core');
  const breaker = circuitBreaker({ window: { consecutive: 1 }, open: '1h' });
  await breaker.execute(failing).catch(() => {});
  return breaker;
};

/** A breaker of cockatiel, of one version; `judge` makes what it judges by. */
const cockatiel = async (version, judge, halfOpenAfter = 60_000) => {
  const its = await import(version);
  return its.circuitBreaker(its.handleAll, { halfOpenAfter, breaker: judge(its) });
};

const consecutive = ({ ConsecutiveBreaker }) => new ConsecutiveBreaker(5);
const counting = ({ CountBreaker }) => new CountBreaker({ threshold: 0.5, size: 100 });
const sampling = ({ SamplingBreaker }) => new SamplingBreaker({ threshold: 0.5, duration: 10_000 });

const opossum = async (options) => {
  const { default: CircuitBreaker } = await import('opossum');
  return new CircuitBreaker(work, options);
};

const oursExecutes = (window) =>
  awaited(async () => {
    const breaker = await ours(window);
    return () => breaker.execute(work);
  });

const cockatielExecutes = (version, judge) =>
  awaited(async () => {
    const breaker = await cockatiel(version, judge);
    return () => breaker.execute(work);
  });

const cockatielRefuses = (version) =>
  rejecting(
    async () => {
      const breaker = await cockatiel(
        version,
        ({ ConsecutiveBreaker }) => new ConsecutiveBreaker(1),
        3_600_000,
      );
      await breaker.execute(failing).catch(() => {});
      return () => breaker.execute(work);
    },
    ({ isBrokenCircuitError }) => isBrokenCircuitError,
  );

const opossumFires = (options) =>
  awaited(async () => {
    const breaker = await opossum(options);
    return () => breaker.fire();
  });

export default {
  title: 'Circuit breakers',
  about: 'Closed, around a function that succeeds, by what they judge by; then open.',
  cases: [
    {
      name: 'breaker, failures in a row',
      ours: {
        execute: {
          contender: oursExecutes({ consecutive: 5 }),
          goal: notAbove('cockatiel ConsecutiveBreaker'),
        },
      },
      peers: {
        'cockatiel ConsecutiveBreaker': cockatielExecutes('cockatiel', consecutive),
        'cockatiel 4 ConsecutiveBreaker': cockatielExecutes('cockatiel-4', consecutive),
      },
    },
    {
      name: 'breaker, last 100 calls',
      ours: {
        execute: { contender: oursExecutes({ calls: 100 }), goal: notAbove('cockatiel CountBreaker') },
      },
      peers: {
        'cockatiel CountBreaker': cockatielExecutes('cockatiel', counting),
        'cockatiel 4 CountBreaker': cockatielExecutes('cockatiel-4', counting),
      },
    },
    {
      name: 'breaker, last 10 seconds',
      ours: {
        execute: {
          contender: oursExecutes({ time: '10s', buckets: 10 }),
          goal: notAbove('cockatiel SamplingBreaker'),
        },
      },
      peers: {
        'cockatiel SamplingBreaker': cockatielExecutes('cockatiel', sampling),
        'cockatiel 4 SamplingBreaker': cockatielExecutes('cockatiel-4', sampling),
        'opossum, no timeout': opossumFires({ timeout: false }),
        'opossum, timeout of 10 s': opossumFires({}),
      },
    },
    {
      name: 'breaker open',
      ours: {
        tryAcquire: {
          contender: called(
            async () => {
              const breaker = await oursOpen();
              return () => breaker.tryAcquire();
            },
            ({ reason }) => reason === 'open',
          ),
          goal: atMost(100),
        },
        attempt: {
          contender: awaited(
            async () => {
              const breaker = await oursOpen();
              return () => breaker.attempt(work);
            },
            ({ reason }) => reason === 'open',
          ),
        },
        'execute, thrown': {
          contender: rejecting(
            async () => {
              const breaker = await oursOpen();
              return () => breaker.execute(work);
            },
            ({ reason }) => reason === 'open',
          ),
        },
      },
      peers: {
        'cockatiel, thrown': cockatielRefuses('cockatiel'),
        'cockatiel 4, thrown': cockatielRefuses('cockatiel-4'),
        'opossum, thrown': rejecting(
          async () => {
            const breaker = await opossum({ timeout: false, resetTimeout: 3_600_000 });
            breaker.open();
            return () => breaker.fire();
          },
          ({ code }) => code === 'EOPENBREAKER',
        ),
      },
    },
  ],
};
