import { checkAlone, checkHooks } from '../base/checks.js';
import type { CommonOptions, Duration } from '../base/types.js';
import { settings } from '../engine/shared.js';
import type { TimeoutSettings } from '../generated/settings.js';
import { Pipeline } from './pipeline.js';

/** Settings of a timeout. */
export interface TimeoutOptions extends CommonOptions, TimeoutSettings {}

/** Cuts calls that take too long. Make one with `timeout`. */
export interface Timeout
  extends Pick<Pipeline, 'execute' | 'attempt' | 'on' | 'dispose' | typeof Symbol.dispose> {
  /** Replaces the settings; running calls keep theirs. Throws `PolicyError` and changes nothing where they are wrong. */
  configure(options: Omit<TimeoutOptions, keyof CommonOptions> | Duration): void;
}

/**
 * A timeout: at its mark the function's signal is aborted and the call rejects
 * with `TimeoutError`. A function that ignores the signal continues, and its result
 * is dropped. Throws `PolicyError` for wrong options.
 *
 * @example
 * const limit = timeout('10s');
 * await limit.execute(({ signal }) => fetch(url, { signal }));
 */
export function timeout(options: TimeoutOptions | Duration): Timeout;
export function timeout(options: TimeoutOptions | Duration, more?: unknown): Timeout {
  checkAlone('timeout', more);
  const { clock, instance } = checkHooks('timeout', options);
  return new Pipeline([{ timeout: (settings(options) ?? {}) as Duration }], { clock, instance }, 'timeout');
}
