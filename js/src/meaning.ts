import { NONE, OUTCOME_FAIL, OUTCOME_OK, OUTCOMES } from './abi.js';
import { ask, isOutcome, OWN_OUTCOMES } from './guard.js';
import type { Classifier, DelayReader, Outcome, RetryAfterReader } from './types.js';

/**
 * The number of the default outcome of an error: a refusal by an inner policy is not a failure of what the
 * outer one guards, and what an inner one injected is what it says. Compared by name,
 * because another entry of the package has a class of its own.
 */
function meaning(error: unknown): number {
  const { name, outcome } = Object(error) as { name?: string; outcome?: Outcome };
  const own = name === 'InjectedError' ? outcome : name === 'RejectedError' ? 'ignore' : 'fail';
  return isOutcome(own) ? OUTCOMES.indexOf(own) : OUTCOME_FAIL;
}

/** The number of an outcome. A classifier that throws, or returns no outcome, is as none. */
export function numberOf(
  outcome: Classifier['outcome'],
  threw: boolean,
  error: unknown,
  value: unknown,
): number {
  const own =
    outcome &&
    ask<Outcome | undefined>(
      'outcome',
      outcome,
      OWN_OUTCOMES,
      () => outcome(threw ? (error ?? null) : undefined, value),
      isOutcome,
      undefined,
    );
  if (own) return OUTCOMES.indexOf(own);
  return threw ? meaning(error) : OUTCOME_OK;
}

const isNumber = (found: unknown): boolean => typeof found === 'number';

/** The delay of a retry in milliseconds: what the result asks for, or that of a function of the user where it is longer. */
export function delayAfter(
  delay: DelayReader['delay'],
  after: number,
  attempt: number,
  error: unknown,
  value: unknown,
): number {
  if (!delay || after < 0) return after;
  const own = ask(
    'delay',
    delay,
    'a number of milliseconds',
    () => delay({ attempt, error, value }),
    isNumber,
    0,
  );
  return own > (after || 0) ? own : after;
}

/** How long a result asks to wait, in milliseconds; NaN where it does not say. */
export function retryAfterOf(reader: RetryAfterReader['retryAfter'], error: unknown, value: unknown): number {
  if (!reader) {
    const after = (error as { retryAfter?: unknown } | null | undefined)?.retryAfter;
    return typeof after === 'number' ? after : NONE;
  }
  const allows = (found: unknown): boolean => found === undefined || isNumber(found);
  return (
    ask(
      'retryAfter',
      reader,
      'a number of milliseconds or undefined',
      () => reader(error, value),
      allows,
      NONE,
    ) ?? NONE
  );
}
