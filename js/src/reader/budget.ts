import { Fields } from './fields.js';
import { MAP, TEXT } from './node.js';
import { asDuration, asInteger, asRate, asShare, asTokenRatio, TOKEN_RATIO_TEXT } from './quantities.js';
import type { Reader, Values } from './settings.js';

/** Ten wholes, in millionths. */
const MAX_RATIO = 1e7;
const RATIO_TEXT = 'a share as in 20%, from 0% to 1000%, with at most 4 decimals';
/** Buckets of a window, and the least one in nanoseconds. */
const BUCKETS = 10;
/** The most tokens of the two rules. */
const MAX_TOKENS = 1_000_000;
const MAX_THROTTLE = 1_000;

/** The settings of the rules, the name of the rule first. */
const WINDOWED = ['ratio', 'minimum', 'window'];
const TOKENS = ['tokens', 'retry', 'timeout', 'refund'];
const THROTTLE = ['max_tokens', 'token_ratio'];
const RULES = [WINDOWED, TOKENS, THROTTLE];

/**
 * Whether there is a budget, 2 for the word none; and its ratio, minimum and window. 3 and its tokens, or 4 and its token
 * ratio, for one of the other rules.
 */
export const budget: Reader = ({ problems }, n) => {
  if (n.kind === TEXT && n.text === 'none') return [2];
  if (n.kind !== MAP) {
    const allowed = `none, ${RATIO_TEXT}, or a map with ratio, tokens or max_tokens`;
    const ratio = asShare(problems, n, 0, MAX_RATIO, allowed);
    return ratio === undefined ? undefined : [1, ratio, ...MINIMUM, WINDOW];
  }
  const fields = new Fields(problems, n, RULES.flat());
  let rule = WINDOWED;
  let values: Values = [1, 0, ...MINIMUM, WINDOW];
  if (!fields.get('tokens') && !fields.get('max_tokens')) {
    values = windowed(fields);
  } else {
    const given = fields.oneOf(
      RULES.map(([name = '']) => name),
      'one of ratio, tokens and max_tokens',
    );
    if (!given) return values;
    rule = fields.get('tokens') ? TOKENS : THROTTLE;
    values = rule === TOKENS ? tokens(fields) : throttle(fields);
  }
  for (const names of RULES) {
    if (names === rule) continue;
    for (const name of names) fields.refuse(name, `without ${names[0]}`, `beside ${names[0]}`);
  }
  return values;
};

const MINIMUM = [10, 1_000_000_000n] as const;
const WINDOW = 10_000_000_000n;

function windowed(fields: Fields): Values {
  const { problems } = fields;
  let minimum: Values = MINIMUM;
  let window = WINDOW;
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
}

function tokens(fields: Fields): Values {
  const { problems } = fields;
  const count = (name: string, most: number): number | undefined => {
    const n = fields.get(name);
    return n && asInteger(problems, n, 1, most);
  };
  const most = count('tokens', MAX_TOKENS) ?? MAX_TOKENS;
  const retry = count('retry', most) ?? Math.min(5, most);
  const timeout = count('timeout', most) ?? Math.min(10, most);
  return [3, most, retry, timeout, count('refund', most) ?? 1];
}

function throttle(fields: Fields): Values {
  const { problems } = fields;
  const most = fields.get('max_tokens');
  const whole = most && asInteger(problems, most, 1, MAX_THROTTLE);
  const ratio = fields.need('token_ratio', TOKEN_RATIO_TEXT);
  return [4, whole ?? 0, (ratio && asTokenRatio(problems, ratio)) ?? 0];
}
