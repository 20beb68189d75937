// Nothing but token buckets without a queue, over the smallest module.

import bytes from 'inline:tokenbucket';
import { checkAlone } from '../base/checks.js';
import type { Rate } from '../base/types.js';
import { KeyedRateLimiter, type KeyedRateLimiterOptions } from '../cells/keyed.js';
import { RateLimiter, type RateLimiterOptions } from '../cells/limiter.js';
import { use } from '../engine/engine.js';
import { instancesOf } from '../engine/instances.js';
import { share } from '../engine/shared.js';
import { compileTokenBucket } from '../engine/token-bucket.js';
import type { Alone } from '../reader/alone.js';

use(instancesOf(new WebAssembly.Module(bytes)), compileTokenBucket);

/** The mechanism by its name: its options are read without it. */
const BUCKET: Alone = {
  mechanism: { row: { kind: 0, name: 'limit', form: '', settings: [] } },
  readers: {},
};

/** Settings of a token bucket, as a rate limiter has them. */
export type TokenBucketOptions = Omit<RateLimiterOptions, NeedsMore>;

/** What needs the rate limiters of `@sluice/core/limiter`. */
type NeedsMore = 'algorithm' | 'wait' | 'queue' | 'order' | 'block' | 'warm_up';

/** Settings of a token bucket for each key. */
export type KeyedTokenBucketOptions = Omit<KeyedRateLimiterOptions, NeedsMore>;

/** Makes rate limiters that are token buckets at which no caller waits. */
export interface TokenBucketFactory {
  /**
   * A rate limiter: it bounds how many calls pass in a time. Throws `PolicyError` for wrong options.
   *
   * @example
   * const limiter = rateLimiter({ rate: '50/1m', burst: 10 });
   * const verdict = limiter.tryAcquire();
   * if (!verdict.ok) console.log(verdict.retryAfter);
   */
  (options: TokenBucketOptions | Rate): RateLimiter;
  /** A rate limiter for each key, bounded in memory. Throws `PolicyError` for wrong options. */
  keyed(options: KeyedTokenBucketOptions | Rate): KeyedRateLimiter;
}

/** Makes rate limiters. They decide as the rate limiters of `@sluice/core/limiter` do. */
export const rateLimiter: TokenBucketFactory = /* @__PURE__ */ Object.assign(
  (options: TokenBucketOptions | Rate, more?: unknown) => {
    checkAlone('rateLimiter', more);
    return new RateLimiter(options, share(BUCKET, options), undefined, undefined, BUCKET);
  },
  {
    keyed: (options: KeyedTokenBucketOptions | Rate, more?: unknown) => {
      checkAlone('rateLimiter.keyed', more);
      return new KeyedRateLimiter(options, BUCKET);
    },
  },
);

export { systemClock } from '../base/clock.js';
export type { Listener } from '../base/emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../base/errors.js';
export type { Snapshot } from '../base/snapshot.js';
export type * from '../base/types.js';
export type { KeyCounts, KeyedOptions, KeyedRateLimiter } from '../cells/keyed.js';
export type { RateLimiter } from '../cells/limiter.js';
