import { LONGEST_NAME } from './names.js';
import { TEXT } from './node.js';
import { asDuration, nearDuration, parseDuration, parseShare, WHOLE } from './quantities.js';
import type { Reader } from './settings.js';

const DELAY_TEXT = 'a duration as in 200ms, or a percentile as in p95';
const PERCENTILE_TEXT =
  'a percentile as in p95 or p99.9, more than p0 and at most p100, with at most 4 decimals';

/** A percentile in millionths; NaN for none. */
const parsePercentile = (text: string): number =>
  text.startsWith('p') ? parseShare(`${text.slice(1)}%`, 1, WHOLE) : Number.NaN;

/** Whether a text is a duration or a percentile. */
export const isDelay = (text: string): boolean =>
  parsePercentile(text) > 0 || typeof parseDuration(text, 1) === 'bigint';

/** A duration or a percentile: one of the two is 0. */
export const delay: Reader = ({ problems }, n) => {
  const { text } = n;
  if (n.kind !== TEXT) {
    problems.mistyped(n, DELAY_TEXT);
    return undefined;
  }
  const share = parsePercentile(text);
  if (share > 0) return [0n, share];
  // It looks like a percentile.
  const [, behind, before] = /^(?:[pP](\d.*)|(.+)%)$/s.exec(text) ?? [];
  const digits = behind ?? before;
  if (digits !== undefined) {
    const near = `p${digits}`;
    const fits = parsePercentile(near) > 0 && digits.length <= LONGEST_NAME;
    problems.mistyped(n, PERCENTILE_TEXT, fits ? near : '');
    return undefined;
  }
  if (parseDuration(text, 1) === 'malformed') {
    problems.mistyped(n, DELAY_TEXT, nearDuration(text, 1));
    return undefined;
  }
  const duration = asDuration(problems, n, 1);
  return duration === undefined ? undefined : [duration, 0];
};
