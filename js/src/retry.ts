import { Pipeline } from './pipeline.js';
import type { Retry, RetryOptions } from './retry-options.js';
import { settings } from './shared.js';

/**
 * A retry: it runs a function again when it fails. Throws `PolicyError` for wrong options.
 *
 * @example
 * const retries = retry({ attempts: 3, backoff: { exponential: '200ms' }, jitter: 'full' });
 * await retries.execute(({ signal }) => fetch(url, { signal }), { signal });
 */
export function retry(options: RetryOptions | number = {}): Retry {
  const { budget = 'none' } = options as RetryOptions;
  // Without a budget a first attempt that succeeds changes no state.
  return new Pipeline([{ retry: settings(options) as number }], options as RetryOptions, budget === 'none');
}
