import { rateLimiter } from '@sluice/core';

const limiter = rateLimiter({ rate: '50/1m', burst: 10, wait: '3s' });

const verdict = limiter.tryAcquire(); // never waits
if (!verdict.ok) console.log(verdict.reason, verdict.retryAfter); // 'rate', milliseconds

await limiter.acquire({ cost: 2, signal: AbortSignal.timeout(1000) }); // waits for its turn
const page = await limiter.execute(() => fetch('https://example.com/')); // throws RejectedError

const perUser = rateLimiter.keyed({ rate: '100/1m', maxKeys: 10_000 });
perUser.tryAcquire('user-7');
