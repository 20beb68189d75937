import { lower } from './bytes.js';
import { LONGEST_NAME, nearest, orList } from './names.js';
import { BOOL, type Node, NUMBER, TEXT } from './node.js';
import type { Problems } from './problems.js';
import { respell } from './spelling.js';

/** What is wrong with a text that should be a quantity. */
export type Wrong =
  | 'malformed'
  /** A sign in front. */
  | 'signed'
  /** More than 2^63 - 1 ns. */
  | 'overlong'
  /** Not a whole number of nanoseconds. */
  | 'unwhole'
  /** A duration of less than the least one. */
  | 'short'
  /** A count out of its bounds. */
  | 'miscount'
  /** More permits than nanoseconds. */
  | 'dense';

export const isWrong = (value: unknown): value is Wrong => typeof value === 'string';

export const UNIT_NAMES = 'the duration with its unit (ns, us, ms, s, m, h, d)';
export const DURATION_TEXT =
  'a duration: numbers, each with its unit (ns, us, ms, s, m, h, d), as in 30s or 1m30s';
export const RATE_TEXT = `a rate COUNT/DURATION as in 50/1m, 50/m or 1000/1h, ${UNIT_NAMES}`;

export const LIMIT_RATE_TEXT = `${RATE_TEXT}, or by the calendar as in 1000/day, 1000/week or 1000/month`;

/** The longest duration. */
const LONGEST = 2n ** 63n - 1n;
const LONGEST_TEXT = '106751d23h47m16.854775807s';
/** More than any number of a document may be. */
const HUGE = 1e19;
/** The most permits of a rate. */
export const MAX_COUNT = 1e9;
/** A whole in millionths. */
export const WHOLE = 1e6;

const MICRO = 1000n;
/** Nanoseconds of each unit; the micro sign and the Greek mu both stand for micro. */
const UNITS: { readonly [unit: string]: bigint } = {
  ns: 1n,
  us: MICRO,
  '\xc2\xb5s': MICRO,
  '\xce\xbcs': MICRO,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
};
const UNIT = '(ns|us|\xc2\xb5s|\xce\xbcs|ms|s|m|h|d)';
const PART = new RegExp(`(\\d*)(?:\\.(\\d*))?${UNIT}`, 'y');
const BARE_UNIT = new RegExp(`^${UNIT}$`);

/** A duration of at least so many nanoseconds, in nanoseconds. It is never rounded. */
export function parseDuration(text: string, least: number): bigint | Wrong {
  if (/^[-+]/.test(text)) return 'signed';
  let sum = 0n;
  PART.lastIndex = 0;
  do {
    const [, whole = '', fraction = '', unit = ''] = PART.exec(text) ?? [];
    const size = UNITS[unit];
    if (!size || !(whole + fraction)) return 'malformed';
    if (Number(whole) > HUGE) return 'overlong';
    const digits = fraction.replace(/0+$/, '');
    const scale = 10n ** BigInt(Math.min(digits.length, LONGEST_NAME));
    const count = BigInt(whole);
    if (count > LONGEST / size) return 'overlong';
    // No unit can be divided by ten so often.
    if (digits.length > LONGEST_NAME) return 'unwhole';
    const part = BigInt(digits) * size;
    if (part % scale) return 'unwhole';
    sum += count * size + part / scale;
    if (sum > LONGEST) return 'overlong';
  } while (PART.lastIndex < text.length);
  return sum < least ? 'short' : sum;
}

/** The duration of a rate: a bare unit is one of it. */
export const parsePeriod = (text: string, least: number): bigint | Wrong =>
  BARE_UNIT.test(text) ? (UNITS[text] as bigint) : parseDuration(text, least);

const isDuration = (text: string, least: number): boolean => !isWrong(parseDuration(text, least));

/** A whole number in decimal digits, without zeros in front; NaN for none. Those above 2^53 are not exact. */
export const parseWhole = (text: string): number => (/^(0|[1-9]\d*)$/.test(text) ? Number(text) : Number.NaN);

/** A rate, of a count of at least `least`, as its count and its period. */
export function parseRate(text: string, least: number): readonly [count: number, period: bigint] | Wrong {
  const slash = text.indexOf('/');
  const count = parseWhole(text.slice(0, Math.max(slash, 0)));
  if (Number.isNaN(count)) return 'malformed';
  const period = parsePeriod(text.slice(slash + 1), 0);
  if (isWrong(period)) return period;
  if (count < least || count > MAX_COUNT) return 'miscount';
  if (period === 0n) return 'short';
  return count > period ? 'dense' : [count, period];
}

/**
 * Digits, and behind a point at most so many as decimals: the number in units of the last decimal.
 * NaN for none, and from 2^32 on.
 */
function fixed(text: string, decimals: number): number {
  const [, whole, fraction = ''] = /^(0|[1-9]\d*)(?:\.(\d+))?$/.exec(text) ?? [];
  const number = Number(`${whole}${fraction.padEnd(decimals, '0')}`);
  return fraction.length <= decimals && number < 2 ** 32 ? number : Number.NaN;
}

/** A percentage in millionths; NaN for none in the range. */
export function parseShare(text: string, least: number, most: number): number {
  const share = text.endsWith('%') ? fixed(text.slice(0, -1), 4) : Number.NaN;
  return share >= least && share <= most ? share : Number.NaN;
}

/** Reads a duration of at least so many nanoseconds, 0 or 1. */
export function asDuration(problems: Problems, n: Node, least: number): bigint | undefined {
  const duration = parseDuration(n.text, least);
  if (n.kind === TEXT && !isWrong(duration)) return duration;
  const more = least ? '; more than 0' : '';
  const wrong = n.kind === TEXT ? duration : 0;
  let allowed = DURATION_TEXT + more;
  if (wrong === 'signed') allowed += ', without a sign';
  if (wrong === 'overlong') allowed = `a duration of at most ${LONGEST_TEXT}`;
  if (wrong === 'unwhole') allowed = 'a duration of whole nanoseconds';
  problems.mistyped(n, allowed, wrong === 'malformed' ? nearDuration(n.text, least) : '');
  return undefined;
}

/** A suggestion for a text that is no duration. */
export function nearDuration(text: string, least: number): string {
  const near = respell(text);
  return isDuration(near, least) ? near : '';
}

/** Reads a rate of at least so many permits, 0 or 1. */
export function asRate(
  problems: Problems,
  n: Node,
  least: number,
): readonly [count: number, period: bigint] | undefined {
  const rate = parseRate(n.text, least);
  if (n.kind === TEXT && !isWrong(rate)) return rate;
  rateProblem(problems, n, least, RATE_TEXT);
  return undefined;
}

/** Reports what is wrong with a rate. */
export function rateProblem(problems: Problems, n: Node, least: number, text: string): void {
  const rate = parseRate(n.text, least);
  let allowed = text;
  let near = '';
  if (n.kind === TEXT) {
    if (rate === 'miscount') allowed += `; the count from ${least} to ${MAX_COUNT}`;
    else if (rate === 'short') allowed += '; the duration more than 0';
    else if (rate === 'dense') allowed = 'a rate of at most one permit a nanosecond';
    else if (rate === 'overlong') allowed += `; the duration at most ${LONGEST_TEXT}`;
    else near = respell(n.text);
  }
  problems.mistyped(n, allowed, isWrong(parseRate(near, least)) ? '' : near);
}

/** Reads a percentage, by default of more than nothing and at most the whole, in millionths. */
export function asShare(
  problems: Problems,
  n: Node,
  least = 1,
  most = WHOLE,
  allowed = 'a share as in 20% or 0.5%, more than 0% and at most 100%, with at most 4 decimals',
): number | undefined {
  const share = parseShare(n.text, least, most);
  if (n.kind === TEXT && share >= 0) return share;
  let near = n.kind === TEXT || n.kind === NUMBER ? respell(n.text) : '';
  if (n.kind === NUMBER && n.text[0] !== '0') near += '%';
  problems.mistyped(n, allowed, parseShare(near, least, most) >= 0 ? near : '');
  return undefined;
}

/** Reads a percentage that may be 0%, in millionths. */
export const asChance = (problems: Problems, n: Node): number | undefined =>
  asShare(problems, n, 0, WHOLE, 'a share as in 20% or 0.5%, from 0% to 100%, with at most 4 decimals');

/** Reads a number from 1 to 1000 of at most six decimals, in millionths. */
export function asFactor(problems: Problems, n: Node): number | undefined {
  const factor = fixed(n.text, 6);
  if (n.kind === NUMBER && factor >= 1e6 && factor <= 1e9) return factor;
  problems.mistyped(n, 'a number from 1 to 1000 with at most 6 decimals, as in 2 or 1.5');
  return undefined;
}

export const TOKEN_RATIO_TEXT = 'a number from 0.001 to 1000 with at most 3 decimals, as in 0.1';

/** Reads what a success returns to a budget, in thousandths of a token. */
export function asTokenRatio(problems: Problems, n: Node): number | undefined {
  const ratio = fixed(n.text, 3);
  if (n.kind === NUMBER && ratio >= 1 && ratio <= 1e6) return ratio;
  problems.mistyped(n, TOKEN_RATIO_TEXT);
  return undefined;
}

/** Reads a whole number of a range. */
export function asInteger(problems: Problems, n: Node, least: number, most: number): number | undefined {
  const number = parseWhole(n.text);
  const fits = number >= least && number <= most;
  if (n.kind === NUMBER && fits) return number;
  const quoted = n.kind === TEXT && fits;
  const allowed = `a whole number from ${least} to ${most}`;
  problems.mistyped(n, quoted ? `${allowed}, without quotes` : allowed, quoted ? n.text : '');
  return undefined;
}

/** Reads true or false. */
export function asBool(problems: Problems, n: Node): boolean {
  if (n.kind === BOOL) return n.text === 'true';
  const text = n.kind === TEXT ? lower(n.text) : '';
  const near = /^(true|yes|on|y)$/.test(text) ? 'true' : /^(false|no|off|n)$/.test(text) ? 'false' : '';
  problems.mistyped(n, 'true or false', near);
  return false;
}

/** Reads one of some words: its index. */
export function asWord(problems: Problems, n: Node, words: readonly string[]): number | undefined {
  const index = n.kind === TEXT ? words.indexOf(n.text) : -1;
  if (index >= 0) return index;
  problems.mistyped(n, orList(words), n.kind === TEXT ? nearest(n.text, words) : '');
  return undefined;
}

/** Whether a node is a text; it is an error when it is none. */
export function isText(problems: Problems, n: Node, allowed: string): boolean {
  if (n.kind === TEXT) return true;
  const bare = n.kind === NUMBER || n.kind === BOOL;
  problems.mistyped(n, bare ? `${allowed}, in quotes` : allowed);
  return false;
}
