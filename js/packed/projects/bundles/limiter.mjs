// One mechanism of the default entry.

import { rateLimiter } from '@sluice/core';

const limiter = rateLimiter('1/1h');
console.log(JSON.stringify([limiter.tryAcquire().ok, limiter.tryAcquire().ok]));
