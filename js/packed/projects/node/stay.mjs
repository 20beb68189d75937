// With `keepAlive` a script that has nothing to do but wait gets its turn.

import { rateLimiter, systemClock } from '@sluice/core';

const limiter = rateLimiter({ rate: '1/20ms', wait: '1h', clock: systemClock({ keepAlive: true }) });
limiter.tryAcquire();
limiter.acquire().then((verdict) => console.log(JSON.stringify(verdict)));
