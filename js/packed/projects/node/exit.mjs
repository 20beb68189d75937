// No caller waits: the process ends at once.

import { bulkhead, circuitBreaker, pipeline, rateLimiter, retry } from '@sluice/core';

const limiter = rateLimiter({ rate: '1/1h', wait: '2h' });
limiter.tryAcquire();
const controller = new AbortController();
const gone = limiter.acquire({ signal: controller.signal }).catch(() => {});
controller.abort();
await gone;
await pipeline([{ timeout: '1h' }]).execute(() => 1);
await retry({ backoff: { constant: '1h' } }).execute(() => 1);
const places = bulkhead({ concurrent: 1, lease: '1h' });
await places.acquire();
const breaker = circuitBreaker({ window: { consecutive: 1 }, open: '1h' });
breaker.on('change', () => {});
breaker.execute(() => Promise.reject(new Error('down'))).catch(() => console.log(breaker.state));
