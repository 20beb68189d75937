// The same types for CommonJS.

import core = require('@sluice/core');
import breakers = require('@sluice/core/breaker');
import translated = require('@sluice/core/js');
import translatedTesting = require('@sluice/core/js/testing');
import limiters = require('@sluice/core/limiter');
import retries = require('@sluice/core/retry');
import slim = require('@sluice/core/slim');
import testing = require('@sluice/core/testing');

const clock: testing.VirtualClock = testing.virtualClock();
const limiter: core.RateLimiter = core.rateLimiter({ rate: '1/1s', clock });
const verdict: core.Verdict = limiter.tryAcquire();
// @ts-expect-error a rate is required
core.rateLimiter({});

export const all: readonly unknown[] = [
  verdict,
  breakers.circuitBreaker(),
  limiters.rateLimiter('1/1s'),
  translated.rateLimiter({ rate: '1/1s', clock: translatedTesting.virtualClock() }),
  retries.retry(),
  slim.initSync,
];
