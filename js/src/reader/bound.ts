import { TEXT } from './node.js';
import { asDuration, asShare, nearDuration, parseDuration, WHOLE } from './quantities.js';
import type { Reader } from './settings.js';

const BOUND_TEXT = 'a duration as in 500ms, or a share of the time that the attempt has, as in 60%';

/** A duration, or a share of the time that an attempt has: one of the two is 0. */
export const bound: Reader = ({ problems }, n) => {
  const { text } = n;
  if (n.kind !== TEXT) {
    problems.mistyped(n, BOUND_TEXT);
    return undefined;
  }
  if (text.endsWith('%')) {
    const share = asShare(problems, n, 1, WHOLE, BOUND_TEXT);
    return share === undefined ? undefined : [0n, share];
  }
  if (parseDuration(text, 1) === 'malformed') {
    problems.mistyped(n, BOUND_TEXT, nearDuration(text, 1));
    return undefined;
  }
  const duration = asDuration(problems, n, 1);
  return duration === undefined ? undefined : [duration, 0];
};
