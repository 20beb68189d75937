import { abandon, isPromise, shown } from './shown.js';
import type { Outcome } from './types.js';

/** The listeners and hooks of which something was printed. */
const reported = new WeakSet<object>();

export function once(owner: object, ...what: unknown[]): void {
  if (reported.has(owner)) return;
  reported.add(owner);
  console.error(...what);
}

const report = (error: unknown, owner: object): void =>
  once(owner, '@sluice/core: a listener or hook failed; its further errors are not printed:', error);

/**
 * Calls a listener or a hook with an argument. Its errors have no caller: the first one of each
 * owner is printed, whether it was thrown or rejected.
 */
export function guard<T>(call: (argument: T) => unknown, argument: T, owner: object): void {
  try {
    const result = call(argument);
    if (isPromise(result)) result.then(undefined, (error) => report(error, owner));
  } catch (error) {
    report(error, owner);
  }
}

const OUTCOMES: readonly string[] = ['ok', 'fail', 'throttle', 'ignore'] satisfies Outcome[];
/** The outcomes that a function of the user may return, as errors list them. */
export const OWN_OUTCOMES = OUTCOMES.join(', ');

/** Whether a value is one of them. */
export const isOutcome = (found: unknown): found is Outcome => OUTCOMES.includes(found as string);

/** Prints once of a function of the user what it returned, or threw, and that the default takes its place. */
function misused(name: string, owner: object, allowed: string, found: unknown, threw: boolean): void {
  abandon(found);
  const what = threw ? 'it threw' : `found ${shown(found)}`;
  const text = `@sluice/core: ${name}: ${what}; allowed ${allowed}. The default takes its place; more of this function is not printed`;
  if (threw) once(owner, `${text}:`, found);
  else once(owner, text);
}

/** Asks a function of the user, with a default for what it must not return and where it throws. */
export function ask<T>(
  name: string,
  owner: object,
  allowed: string,
  call: () => T,
  allows: (found: T) => boolean,
  otherwise: T,
): T {
  try {
    const found = call();
    if (allows(found)) return found;
    misused(name, owner, allowed, found, false);
  } catch (error) {
    misused(name, owner, allowed, error, true);
  }
  return otherwise;
}
