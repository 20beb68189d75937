// A script that has nothing to do but wait gets its turn, and ends then.

import { pipeline, rateLimiter, resilientFetch, timeout, TimeoutError } from '@sluice/core';

const limiter = rateLimiter({ rate: '1/20ms', wait: '1h' });
limiter.tryAcquire();
const verdict = await limiter.acquire();

let sent = 0;
const get = resilientFetch([{ retry: { attempts: 2, backoff: { constant: '20ms' }, jitter: 'none' } }], {
  fetch: async () => new Response('', { status: sent++ ? 200 : 503 }),
});
const { status } = await get('https://example.com/');

const cut = await timeout('20ms')
  .execute(() => new Promise(() => {}))
  .catch((error) => error instanceof TimeoutError);

// The timer that this leaves belongs to no caller.
await pipeline([{ timeout: '1h' }]).execute(() => 1);
console.log(JSON.stringify({ ...verdict, status, cut }));
