import { Fields } from './fields.js';
import { MAP, TEXT } from './node.js';
import { asDuration, asRate, asShare } from './quantities.js';
import type { Reader } from './settings.js';

/** Ten wholes, in millionths. */
const MAX_RATIO = 1e7;
const RATIO_TEXT = 'a share as in 20%, from 0% to 1000%, with at most 4 decimals';
/** Buckets of a window, and the least one in nanoseconds. */
const BUCKETS = 10;

/** Whether there is a budget, 2 for the word none; and its ratio, minimum and window. */
export const budget: Reader = ({ problems }, n) => {
  if (n.kind === TEXT && n.text === 'none') return [2];
  let minimum: readonly (number | bigint)[] = [10, 1_000_000_000n];
  let window = 10_000_000_000n;
  if (n.kind !== MAP) {
    const allowed = `none, ${RATIO_TEXT}, or a map of ratio, minimum and window`;
    const ratio = asShare(problems, n, 0, MAX_RATIO, allowed);
    return ratio === undefined ? undefined : [1, ratio, ...minimum, window];
  }
  const fields = new Fields(problems, n, ['ratio', 'minimum', 'window']);
  const share = fields.need('ratio', RATIO_TEXT);
  const ratio = share && asShare(problems, share, 0, MAX_RATIO, RATIO_TEXT);
  const rate = fields.get('minimum');
  if (rate) minimum = asRate(problems, rate, 0) ?? minimum;
  const span = fields.get('window');
  if (span) {
    window = asDuration(problems, span, 1) ?? window;
    if (window < BUCKETS) problems.mistyped(span, `at least ${BUCKETS}ns, one for each bucket`);
  }
  return [1, ratio ?? 0, ...minimum, window];
};
