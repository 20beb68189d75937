import { NONE, OUTCOME_FAIL, OUTCOME_OK, OUTCOMES } from './abi.js';
import type { Classifier, DelayReader, Outcome, RetryAfterReader } from './types.js';

/**
 * The default classifier: a refusal by an inner policy is not a failure of what the
 * outer one guards, and what an inner one injected is what it says. Compared by name,
 * because another entry of the package has a class of its own.
 */
const meaning: NonNullable<Classifier['outcome']> = (error) => {
  const { name, outcome } = Object(error) as { name?: string; outcome?: Outcome };
  if (name === 'InjectedError') return outcome as Outcome;
  return name === 'RejectedError' ? 'ignore' : 'fail';
};

/** The number of an outcome. Without a classifier, every other throw is a failure, as is a classifier that throws. */
export function numberOf(
  outcome: Classifier['outcome'],
  threw: boolean,
  error: unknown,
  value: unknown,
): number {
  if (!outcome && !threw) return OUTCOME_OK;
  try {
    const number = OUTCOMES.indexOf((outcome ?? meaning)(threw ? (error ?? null) : undefined, value));
    if (number > 0) return number;
  } catch {
    // A classifier that throws gives no outcome: the attempt counts as failed.
  }
  return OUTCOME_FAIL;
}

/** The delay of a retry in milliseconds: what the result asks for, or that of a function of the user where it is longer. */
export function delayAfter(
  delay: DelayReader['delay'],
  after: number,
  attempt: number,
  error: unknown,
  value: unknown,
): number {
  if (!delay || after < 0) return after;
  try {
    const own = delay({ attempt, error, value });
    return typeof own === 'number' && own > (after || 0) ? own : after;
  } catch {
    return after;
  }
}

/** How long a result asks to wait, in milliseconds; NaN where it does not say. */
export function retryAfterOf(reader: RetryAfterReader['retryAfter'], error: unknown, value: unknown): number {
  try {
    const after = reader
      ? reader(error, value)
      : (error as { retryAfter?: unknown } | null | undefined)?.retryAfter;
    return typeof after === 'number' ? after : NONE;
  } catch {
    return NONE;
  }
}
