// The options of a token bucket without a queue. The reader of all options is larger than that module: this one
// has the same rules and texts, and says no more than what is wrong first.

import { PolicyError, type Problem } from '../base/errors.js';
import { shown } from '../base/shown.js';
import { MAX_FILL, TOO_SLOW } from '../reader/checks/limit.js';
import { number } from '../reader/encode.js';
import { NAME_TEXT, orList, validName } from '../reader/names.js';
import { MAX_COUNT, parseRate, RATE_TEXT } from '../reader/quantities.js';
import { type Compile, check, putBytes, x } from './engine.js';

const SETTINGS = ['rate', 'burst', 'name', 'shadow'];

function wrong(name: string, found: string, allowed: string): never {
  const path = name ? `limit.${name}` : 'limit';
  const problem: Problem = { path, found, allowed, nearest: undefined };
  throw new PolicyError('bad-policy', `${path}: found ${found}; allowed ${allowed}`, [problem]);
}

/** What a value is, for an error. */
function described(value: unknown): string {
  if (value == null) return 'nothing';
  const type = typeof value;
  return type === 'string'
    ? `the text ${shown(value)}`
    : type === 'number'
      ? `the number ${value}`
      : shown(value);
}

const mistyped = (name: string, value: unknown, allowed: string): never =>
  wrong(name, described(value), allowed);

/** Reads the options of a token bucket, and gives them to the module. */
export const compileTokenBucket: Compile = (_, options) => {
  const given = options ?? {};
  const short = typeof given === 'string';
  if (!short && (Object(given) !== given || Array.isArray(given) || typeof given === 'function')) {
    mistyped('', given, `an object with ${orList(SETTINGS)}, or a rate`);
  }
  const settings = short ? { rate: given } : (given as { readonly [name: string]: unknown });
  for (const name in settings) {
    if (!SETTINGS.includes(name) && settings[name] !== undefined) {
      wrong(name, `the unknown name ${shown(name)}`, orList(SETTINGS));
    }
  }
  const { rate, burst = 0, name = 'limit', shadow = false } = settings;
  const parsed = typeof rate === 'string' ? parseRate(rate, 1) : '';
  if (typeof parsed === 'string') return mistyped(short ? '' : 'rate', rate, RATE_TEXT);
  const bursts = settings.burst === undefined || (Number.isInteger(burst) && Number(burst) > 0);
  if (!bursts || Number(burst) > MAX_COUNT) mistyped('burst', burst, `a whole number from 1 to ${MAX_COUNT}`);
  if (typeof name !== 'string' || !validName(name) || name === 'deadline') mistyped('name', name, NAME_TEXT);
  if (typeof shadow !== 'boolean') mistyped('shadow', shadow, 'true or false');
  const [count, period] = parsed;
  if ((period - 1n) / BigInt(count) >= MAX_FILL / BigInt(Number(burst) || count)) {
    wrong(short ? '' : burst ? 'burst' : 'rate', described(burst || rate), TOO_SLOW);
  }
  // The algorithm is the first one, and all that follows the burst is 0: eight settings of other limiters.
  const id = `\0${number(count)}${number(period)}${number(Number(burst))}${'\0'.repeat(8)}`;
  return {
    name: String(name),
    shadow: Boolean(shadow),
    id,
    make: () => check(x.limiter(putBytes(id))),
  };
};
