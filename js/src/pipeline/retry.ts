import { checkAlone, checkHooks } from '../base/checks.js';
import { defaultClock } from '../base/clock.js';
import { settings, undelayed } from '../engine/shared.js';
import { Pipeline } from './pipeline.js';
import type { Retry, RetryOptions } from './retry-options.js';

/**
 * A retry: it runs a function again when it fails. Throws `PolicyError` for wrong options.
 *
 * @example
 * const retries = retry({ attempts: 3, backoff: { exponential: '200ms' }, jitter: 'full' });
 * await retries.execute(({ signal }) => fetch(url, { signal }), { signal });
 */
export function retry(options?: RetryOptions | number): Retry;
export function retry(options: RetryOptions | number = {}, more?: unknown): Retry {
  checkAlone('retry', more);
  const {
    clock = defaultClock,
    outcome,
    retryAfter,
    delay,
    stack = false,
    instance,
  } = checkHooks('retry', options) as RetryOptions;
  const hooks = {
    clock,
    stack,
    instance,
    ...(outcome && { outcome }),
    ...(retryAfter && { retryAfter }),
    ...(delay && { delay }),
  };
  return new Pipeline([{ retry: settings(undelayed(options)) as number }], hooks, 'retry');
}
