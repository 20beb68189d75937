// Only the package has timers: the process ends at once.

import { circuitBreaker, pipeline, rateLimiter } from '@sluice/core';

const limiter = rateLimiter({ rate: '1/1h', wait: '2h' });
limiter.tryAcquire();
void limiter.acquire();
void pipeline([{ timeout: '1h' }]).execute(() => new Promise(() => {}));
const breaker = circuitBreaker({ window: { consecutive: 1 }, open: '1h' });
breaker.on('change', () => {});
breaker.execute(() => Promise.reject(new Error('down'))).catch(() => console.log(breaker.state));
