// The errors of attempts that a policy ends: an entry without timeouts, hedges and chaos leaves them out.

import { branded, stackless } from '../base/errors.js';
import type { Outcome } from '../base/types.js';

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

/**
 * Thrown when a chaos step ended an attempt in place of the function, which did not run.
 * It has no stack.
 */
export class InjectedError extends Error {
  override readonly name = 'InjectedError';

  constructor(
    /** The step that injected it. */
    readonly step: string,
    /** How the attempt ended: `fail`, `throttle` or `ignore`. */
    readonly outcome: Outcome,
    /** Of a `throttle`, the delay in milliseconds that it asks for before the next attempt. */
    readonly retryAfter?: number,
  ) {
    super(`${step}: injected: ${outcome}`);
  }
}

branded(TimeoutError, 'TimeoutError');
branded(InjectedError, 'InjectedError');
branded(HedgeLostError, 'HedgeLostError');

/** The error of a cut. */
export const timedOut = (step: string): TimeoutError => stackless(() => new TimeoutError(step));

/** The error of an injected result. */
export const injected = (step: string, outcome: Outcome, retryAfter?: number): InjectedError =>
  stackless(() => new InjectedError(step, outcome, retryAfter));

/** The error of an attempt that lost. */
export const lost = (step: string, won: number): HedgeLostError =>
  stackless(() => new HedgeLostError(step, won));
