import { exercise } from './exercise.mjs';

/** A worker that uses an entry of the package. */
export function answering(core, testing) {
  // Made where workers make what outlives a request, and used by several requests at once.
  const limiter = core.rateLimiter({ rate: '1/50ms', burst: 1, wait: '1m' });
  const retries = core.retry({ attempts: 2, backoff: { constant: '50ms' }, jitter: 'none' });
  const guarded = core.pipeline([
    { retry: { attempts: 3, backoff: { constant: '20ms' }, jitter: 'none' } },
    { bulkhead: { concurrent: 2, queue: 10 } },
    { timeout: '500ms' },
  ]);

  const answers = {
    '/exercise': () => exercise(core, testing),
    // A body can be read by its own request only.
    '/read': (request) =>
      guarded.execute(async ({ attempt, signal }) => {
        if (attempt === 1) throw new Error('down');
        if (attempt === 2) return new Promise((_, reject) => signal.addEventListener('abort', reject));
        await scheduler.wait(5);
        return request.text();
      }),
    '/limiter': () => limiter.acquire(),
    '/retry': () =>
      retries.execute(({ attempt }) => {
        if (attempt === 1) throw new Error('down');
        return attempt;
      }),
  };

  return {
    async fetch(request) {
      return Response.json(await answers[new URL(request.url).pathname](request));
    },
  };
}
