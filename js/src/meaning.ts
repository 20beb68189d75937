import { NONE, OUTCOME_FAIL, OUTCOME_OK, OUTCOMES } from './abi.js';
import type { Classifier, RetryAfterReader } from './types.js';

/** What errors mean where nobody says: a refusal by a policy inside is no failure of what it guards. Another entry has another class. */
const meaning: NonNullable<Classifier['outcome']> = (error) =>
  (error as Error | null)?.name === 'RejectedError' ? 'ignore' : 'fail';

/** The number of an outcome. A function that throws, whatever it throws, or a classifier that does, has failed. */
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
    // A classifier is asked for an opinion; without one, the worst is supposed.
  }
  return OUTCOME_FAIL;
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
