import type { Outcome } from '../base/types.js';
import type { Policy } from '../pipeline/policy.js';

/** The outcomes of answers and errors, by status, hundred and error of the network. */
export type Classes = ReadonlyMap<string, Outcome>;

const DEFAULTS = { fail: ['5xx', 'connect', 'reset'], throttle: [429], ignore: ['4xx', 501, 505, 511] };

/** The classes of a policy. A missing class is the default one, without the members of the others. */
export function classesOf({ outcomes = {} }: Policy): Classes {
  const all = new Map<string, Outcome>();
  // A class that is named replaces the default one, and takes from the others what it names.
  for (const classes of [{ ...DEFAULTS, ...outcomes }, outcomes]) {
    for (const [outcome, list] of Object.entries(classes)) {
      for (const entry of list) all.set(String(entry), outcome as Outcome);
    }
  }
  return all;
}

/** The outcome of a status, which has priority over its hundred. */
export const outcomeOfStatus = (classes: Classes, status: number): Outcome =>
  classes.get(String(status)) ?? classes.get(`${Math.floor(status / 100)}xx`) ?? 'ok';

/** The outcome of an error of fetch. One without a class is `ok`, as for answers. */
export const outcomeOfError = (classes: Classes, error: unknown): Outcome => {
  const failure = failureOf(error);
  return failure === 'mistake' ? 'ignore' : (classes.get(failure) ?? 'ok');
};

// In Node the cause of the error says why there was no answer; a browser does not say it.
function failureOf(error: unknown): 'connect' | 'reset' | 'timeout' | 'mistake' {
  const { name, cause } = Object(error) as { name?: string; cause?: { code?: string; message?: string } };
  const told = `${name} ${cause?.code} ${cause?.message}`;
  // A certificate that is refused is refused again.
  if (/INVALID|unknown scheme|CERT|UNABLE_TO_/.test(told)) return 'mistake';
  if (/CONNECT|REFUSED|NOTFOUND|EAI_|UNREACH|TLS|SSL/.test(told)) return 'connect';
  return /timeout|ETIMEDOUT/i.test(told) ? 'timeout' : 'reset';
}
