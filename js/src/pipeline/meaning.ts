import { ask, isOutcome, OWN_OUTCOMES } from '../base/guard.js';
import type { Classifier, DelayReader, Outcome, Reason, RetryAfterReader } from '../base/types.js';
import { NONE, OUTCOME_OK, OUTCOMES } from '../generated/abi.js';

/** Refusals for which waiting does not help, where they do not say how long. */
const FINAL: readonly unknown[] = ['capacity', 'deadline', 'denied', 'missing', 'stopped'] satisfies Reason[];

/** Whether an error is the refusal of an inner policy. By name, because another entry of the package has a class of its own. */
const isRefusal = (error: unknown): boolean => (Object(error) as { name?: string }).name === 'RejectedError';

/**
 * The default outcome of an error: a refusal by an inner policy is a throttle, so that an outer retry waits for it and no
 * outer breaker counts it, and what an inner one injected is what it says.
 */
const meaning = (error: unknown): Outcome => ownMeaning(error) ?? 'fail';

/** What the error of an inner policy says of itself; undefined for other errors. */
export function ownMeaning(error: unknown): Outcome | undefined {
  const { name, outcome } = Object(error) as { name?: string; outcome?: unknown };
  if (isRefusal(error)) return 'throttle';
  return name === 'InjectedError' && isOutcome(outcome) ? outcome : undefined;
}

/** The retry delay that an error has itself in milliseconds; negative where waiting does not help, NaN where it does not say. */
export function delayOf(error: unknown): number {
  const { retryAfter, reason } = Object(error) as { retryAfter?: unknown; reason?: unknown };
  if (typeof retryAfter === 'number') return retryAfter;
  return isRefusal(error) && FINAL.includes(reason) ? -1 : NONE;
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
  return threw ? OUTCOMES.indexOf(meaning(error)) : OUTCOME_OK;
}

const isNumber = (found: unknown): boolean => typeof found === 'number';

/** The delay of a retry in milliseconds: what the result asks for, or the delay of a function of the user where it is longer. */
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
  if (!reader) return delayOf(error);
  const allows = (found: unknown): boolean => found === undefined || isNumber(found);
  return (
    ask(
      'retryAfter',
      reader,
      'a number of milliseconds or undefined',
      () => reader(error, value),
      allows,
      NONE,
    ) ?? (isRefusal(error) ? delayOf(error) : NONE)
  );
}
