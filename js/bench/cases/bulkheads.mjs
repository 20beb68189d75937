import { atMost, atMostTimes, awaited, called, rejecting, work } from '../kinds.mjs';

const PLACES = 10;

const ours = async (options) => {
  const { bulkhead } = await import('@sluice/core');
  return bulkhead(options);
};

const oursFull = async () => {
  const places = await ours(1);
  places.tryAcquire();
  return places;
};

const cockatiel = async (version, places, queue) => {
  const its = await import(version);
  return its.bulkhead(places, queue);
};

const semaphore = async (places) => {
  const { Sema } = await import('async-sema');
  return new Sema(places);
};

async function under(sema) {
  await sema.acquire();
  try {
    return await work();
  } finally {
    sema.release();
  }
}

const limit = async () => {
  const { default: pLimit } = await import('p-limit');
  return pLimit(PLACES);
};

const queue = async () => {
  const { default: PQueue } = await import('p-queue');
  return new PQueue({ concurrency: PLACES });
};

const jobs = ({ small }) => (small ? 20 : 1000);

/** Gives all jobs at once and awaits them all. `ready` makes what one job is run by. */
const queued = (ready) =>
  awaited(
    async (options) => {
      const run = await ready(jobs(options));
      const length = jobs(options);
      return () => Promise.all(Array.from({ length }, run));
    },
    (results) => results.length > 0,
    jobs,
  );

export default {
  title: 'Bulkheads and queues',
  about: `${PLACES} places. The queue: 1,000 jobs given at once, in nanoseconds of one job.`,
  cases: [
    {
      name: 'bulkhead runs a function',
      ours: {
        execute: {
          contender: awaited(async () => {
            const places = await ours(PLACES);
            return () => places.execute(work);
          }),
          goal: atMostTimes(2, 'cockatiel'),
        },
        'execute, with a queue': {
          contender: awaited(async () => {
            const places = await ours({ concurrent: PLACES, queue: 100 });
            return () => places.execute(work);
          }),
          goal: atMostTimes(2, 'cockatiel'),
        },
      },
      peers: {
        cockatiel: awaited(async () => {
          const places = await cockatiel('cockatiel', PLACES);
          return () => places.execute(work);
        }),
        'cockatiel 4': awaited(async () => {
          const places = await cockatiel('cockatiel-4', PLACES);
          return () => places.execute(work);
        }),
        'p-limit': awaited(async () => {
          const run = await limit();
          return () => run(work);
        }),
        'async-sema': awaited(async () => {
          const sema = await semaphore(PLACES);
          return () => under(sema);
        }),
      },
    },
    {
      name: 'bulkhead, a place acquired and released',
      ours: {
        tryAcquire: {
          contender: called(async () => {
            const places = await ours(PLACES);
            return () => {
              const permit = places.tryAcquire();
              if (permit.ok) permit.release();
              return permit.ok;
            };
          }),
        },
      },
      peers: {
        'async-sema tryAcquire': called(async () => {
          const sema = await semaphore(PLACES);
          return () => {
            const token = sema.tryAcquire();
            if (token) sema.release();
            return token !== undefined;
          };
        }),
      },
    },
    {
      name: 'bulkhead full',
      ours: {
        tryAcquire: {
          contender: called(
            async () => {
              const places = await oursFull();
              return () => places.tryAcquire();
            },
            ({ reason }) => reason === 'full',
          ),
          goal: atMost(100),
        },
        attempt: {
          contender: awaited(
            async () => {
              const places = await oursFull();
              return () => places.attempt(work);
            },
            ({ reason }) => reason === 'full',
          ),
        },
      },
      peers: {
        'cockatiel, thrown': rejecting(
          async () => {
            const places = await cockatiel('cockatiel', 1, 0);
            void places.execute(() => new Promise(() => {}));
            return () => places.execute(work);
          },
          ({ isBulkheadRejectedError }) => isBulkheadRejectedError,
        ),
        'async-sema tryAcquire': called(async () => {
          const sema = await semaphore(1);
          sema.tryAcquire();
          return () => sema.tryAcquire() === undefined;
        }),
      },
    },
    {
      name: '1,000 queued jobs',
      ours: {
        execute: {
          contender: queued(async (length) => {
            const places = await ours({ concurrent: PLACES, queue: length });
            return () => places.execute(work);
          }),
        },
      },
      peers: {
        cockatiel: queued(async (length) => {
          const places = await cockatiel('cockatiel', PLACES, length);
          return () => places.execute(work);
        }),
        'p-limit': queued(async () => {
          const run = await limit();
          return () => run(work);
        }),
        'p-queue': queued(async () => {
          const line = await queue();
          return () => line.add(work);
        }),
        'async-sema': queued(async () => {
          const sema = await semaphore(PLACES);
          return () => under(sema);
        }),
        bottleneck: queued(async () => {
          const { default: Bottleneck } = await import('bottleneck');
          const line = new Bottleneck({ maxConcurrent: PLACES });
          return () => line.schedule(work);
        }),
      },
    },
  ],
};
