import { checkAlone } from '../base/checks.js';
import type { LimitRate } from '../base/types.js';
import { share } from '../engine/shared.js';
import { limitAlone } from '../reader/alone.js';
import { KeyedRateLimiter, type KeyedRateLimiterOptions } from './keyed.js';
import { RateLimiter, type RateLimiterOptions } from './limiter.js';

/** Makes rate limiters. */
export interface RateLimiterFactory {
  /**
   * A rate limiter: it bounds how many calls pass in a time. Throws `PolicyError` for wrong options.
   *
   * @example
   * const limiter = rateLimiter({ rate: '50/1m', burst: 10, wait: '3s' });
   * const verdict = await limiter.acquire({ signal });
   * if (!verdict.ok) console.log(verdict.reason, verdict.retryAfter);
   */
  (options: RateLimiterOptions | LimitRate): RateLimiter;
  /**
   * A rate limiter for each key, bounded in memory. Throws `PolicyError` for wrong options.
   *
   * @example
   * const limiter = rateLimiter.keyed('100/1m');
   * if (!limiter.tryAcquire(user).ok) return new Response(null, { status: 429 });
   */
  keyed(options: KeyedRateLimiterOptions | LimitRate): KeyedRateLimiter;
}

/** Makes rate limiters. */
export const rateLimiter: RateLimiterFactory = /* @__PURE__ */ Object.assign(
  (options: RateLimiterOptions | LimitRate, more?: unknown) => {
    checkAlone('rateLimiter', more);
    return new RateLimiter(options, share(limitAlone, options), undefined, undefined, limitAlone);
  },
  {
    keyed: (options: KeyedRateLimiterOptions | LimitRate, more?: unknown) => {
      checkAlone('rateLimiter.keyed', more);
      return new KeyedRateLimiter(options, limitAlone);
    },
  },
);
