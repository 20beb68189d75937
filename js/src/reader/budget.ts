import { Fields } from './fields.js';
import { MAP, TEXT } from './node.js';
import { asDuration, asInteger, asRate, asShare, asTokenRatio, TOKEN_RATIO_TEXT } from './quantities.js';
import type { Values } from './row.js';
import type { Reader } from './settings.js';

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
const ADAPTIVE = ['adaptive', 'one_above', 'two_above', 'wait'];
const RULES = [WINDOWED, TOKENS, THROTTLE, ADAPTIVE];

/**
 * Whether there is a budget, 2 for the word none; and its ratio, minimum and window. 3 and its tokens, 4 and its token
 * ratio, or 5 and its shares, for one of the other rules.
 */
export const budget: Reader = ({ problems }, n) => {
  if (n.kind === TEXT && n.text === 'none') return [2];
  if (n.kind !== MAP) {
    const allowed = `none, ${RATIO_TEXT}, or a map with ratio, tokens, max_tokens or adaptive`;
    const ratio = asShare(problems, n, 0, MAX_RATIO, allowed);
    return ratio === undefined ? undefined : [1, ratio, ...MINIMUM, WINDOW];
  }
  const fields = new Fields(problems, n, RULES.flat());
  let rule = WINDOWED;
  let values: Values = [1, 0, ...MINIMUM, WINDOW];
  if (!RULES.slice(1).some(([name = '']) => fields.get(name))) {
    values = windowed(fields);
  } else {
    const given = fields.oneOf(
      RULES.map(([name = '']) => name),
      'one of ratio, tokens, max_tokens and adaptive',
    );
    if (!given) return values;
    rule = RULES.find(([name]) => name === given.key) ?? rule;
    values = rule === TOKENS ? tokens(fields) : rule === THROTTLE ? throttle(fields) : adaptive(fields);
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
  window = bucketed(fields, 'window') ?? window;
  return [1, ratio ?? 0, ...minimum, window];
}

/** The window of a budget. */
function bucketed(fields: Fields, name: string): bigint | undefined {
  const { problems } = fields;
  const span = fields.get(name);
  const window = span && asDuration(problems, span, 1);
  if (span && window !== undefined && window < BUCKETS) {
    problems.mistyped(span, `at least ${BUCKETS}ns, one for each bucket`);
  }
  return window;
}

function adaptive(fields: Fields): Values {
  const { problems } = fields;
  const share = (name: string): number | undefined => {
    const n = fields.get(name);
    return n && asShare(problems, n);
  };
  const window = bucketed(fields, 'adaptive') ?? WINDOW;
  const one = share('one_above') ?? 500_000;
  const two = share('two_above') ?? 200_000;
  const wait = fields.get('wait');
  const longest = (wait && asDuration(problems, wait, 1)) ?? 2_000_000_000n;
  const wrong = two > one && (fields.get('two_above') ?? fields.get('one_above'));
  if (wrong) problems.mistyped(wrong, 'two_above of at most one_above');
  return [5, window, one, two, longest];
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
