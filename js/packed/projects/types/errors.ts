// Mistakes that the types find. Each line under a comment must not compile.

import { bulkhead, circuitBreaker, pipeline, policy, rateLimiter, retry, timeout } from '@sluice/core';
import { circuitBreaker as small } from '@sluice/core/breaker';
import { evaluate } from '@sluice/core/testing';

// @ts-expect-error a rate has a slash
rateLimiter('50 per minute');
// @ts-expect-error a rate has a unit
rateLimiter({ rate: '50/1' });
// @ts-expect-error a rate is required
rateLimiter({ burst: 1 });
// @ts-expect-error no such setting
rateLimiter({ rate: '50/1m', brust: 1 });
// @ts-expect-error a key is required
rateLimiter.keyed('1/1s').tryAcquire();

const verdict = rateLimiter('1/1s').tryAcquire();
// @ts-expect-error an admission has no reason
verdict.reason;

// @ts-expect-error a duration has a unit
timeout('10');
// @ts-expect-error a timeout says when
timeout({});
// @ts-expect-error a share has a sign
circuitBreaker({ failure_rate: '50' });
// @ts-expect-error the window is one of three
circuitBreaker({ window: { minutes: 1 } });
// @ts-expect-error no such state
circuitBreaker().transition('ajar');
// @ts-expect-error the state is read
circuitBreaker().state = 'open';
// @ts-expect-error no such decision
circuitBreaker().on('opened', () => {});
// @ts-expect-error a number of places is required
bulkhead({ queue: 1 });
// @ts-expect-error no such backoff
retry({ backoff: { quadratic: '1s' } });
// @ts-expect-error no such mechanism
pipeline([{ cache: '1m' }]);
// @ts-expect-error one mechanism a step
pipeline([{ limit: '1/1s', per: 'key' }]);
// @ts-expect-error no such version
policy({ version: 2, policies: {} });
// @ts-expect-error a call has an id
evaluate([], [{ at: '1s', op: 'call' }]);
// @ts-expect-error the entry has one mechanism
small({ rate: '1/1s' });

export const attempted: Promise<void> = rateLimiter('1/1s')
  .attempt(() => 1)
  .then((result) => {
    // @ts-expect-error a refusal has no value
    result.value;
  });

// @ts-expect-error a hedge says when, or that all start at once
pipeline([{ hedge: { max: 2 } }]);
// @ts-expect-error not both
pipeline([{ hedge: { after: '1s', parallel: true } }]);
