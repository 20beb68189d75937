// The errors of attempts that are cut: an entry without timeouts and hedges leaves them out.

import { branded, stackless } from './errors.js';

/**
 * Thrown when a timeout step or a call's deadline cut it, and the reason of the
 * abort that the function sees. It has no stack.
 */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';

  constructor(
    /** The step that cut; `deadline` for the call's own. */
    readonly step: string,
  ) {
    super(`${step}: timed out`);
  }
}

/**
 * The reason with which the signal of an attempt is aborted that lost to another
 * attempt of its call. It has no stack, and no caller gets it.
 */
export class HedgeLostError extends Error {
  override readonly name = 'HedgeLostError';

  constructor(
    /** The step that started the attempts. */
    readonly step: string,
    /** The attempt that won. */
    readonly won: number,
  ) {
    super(`${step}: attempt ${won} won`);
  }
}

branded(TimeoutError, 'TimeoutError');
branded(HedgeLostError, 'HedgeLostError');

/** The error of a cut. */
export const timedOut = (step: string): TimeoutError => stackless(() => new TimeoutError(step));

/** The error of an attempt that lost. */
export const lost = (step: string, won: number): HedgeLostError =>
  stackless(() => new HedgeLostError(step, won));
