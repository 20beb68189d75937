import { Fields } from './fields.js';
import { nearest } from './names.js';
import { LIST, MAP, type Node, TEXT } from './node.js';
import type { Problems } from './problems.js';
import { asDuration, asFactor, asShare, DURATION_TEXT, parseDuration, WHOLE } from './quantities.js';
import type { Values } from './row.js';
import type { Reader } from './settings.js';

/** The kinds in the order of their numbers. */
const KINDS = ['none', 'constant', 'linear', 'exponential', 'fibonacci', 'decorrelated', 'delays'];
const CONSTANT = 1;
const EXPONENTIAL = 3;
const DECORRELATED = 5;
const LISTED = 6;
/** The most delays of a list. */
const MAX_DELAYS = 16;
const SETTINGS = [...KINDS.slice(1), 'factor', 'max'];

const BACKOFF_TEXT =
  'one of {constant: d}, {linear: d, max: d}, {exponential: d, factor: n, max: d}, {fibonacci: d, max: d}, {decorrelated: d, max: d} or {delays: [d, d]}';

/** The default factor of an exponential backoff. */
const FACTOR = 2e6;

/** What a backoff may be: the least delay of a list, and the default max of an exponential one. */
interface Form {
  readonly kinds: readonly string[];
  readonly allowed: string;
  readonly least: number;
  readonly most: bigint;
  readonly mostIs: string;
}

const RETRIES: Form = {
  kinds: KINDS.slice(1),
  allowed: BACKOFF_TEXT,
  least: 0,
  most: 60_000_000_000n,
  mostIs: '1m',
};
const OPENINGS: Form = { ...RETRIES, least: 1 };
/** The forms of a block, which are not random. */
const BLOCKS: Form = {
  kinds: KINDS.slice(1).filter((kind) => kind !== 'decorrelated'),
  allowed:
    'one of {constant: d}, {linear: d, max: d}, {exponential: d, factor: n, max: d}, {fibonacci: d, max: d} or {delays: [d, d]}',
  least: 1,
  most: 86_400_000_000_000n,
  mostIs: '24h',
};

/** The kinds of jitter in the order of their numbers. One of a share comes behind them. */
const JITTERS = ['none', 'full', 'equal'];

/** A backoff: its kind, base, factor and max. */
export const backoff: Reader = ({ problems }, n) => {
  const allowed = `none, or ${BACKOFF_TEXT}`;
  if (n.kind === TEXT && n.text === 'none') return [0, 0n, 0, 0n];
  if (n.kind === MAP) return growth(new Fields(problems, n, SETTINGS), RETRIES);
  const duration = typeof parseDuration(n.text, 0) === 'bigint';
  problems.mistyped(n, allowed, duration ? `{constant: ${n.text}}` : '');
  return [CONSTANT];
};

/** The map of a backoff. Where its kind is unknown it is constant: any kind with a jitter suffices to read one. */
function growth(fields: Fields, { kinds, allowed, least, most: longest, mostIs }: Form): Values {
  const { problems } = fields;
  const entry = fields.oneOf(kinds, allowed);
  if (!entry) return [CONSTANT];
  const kind = KINDS.indexOf(entry.key);
  const listed = kind === LISTED ? delays(problems, entry, least) : undefined;
  const base = kind === LISTED ? undefined : asDuration(problems, entry, 1);
  let factor = 0;
  let most = 0n;
  if (kind === CONSTANT || kind === LISTED) {
    fields.refuse('max', `beside ${entry.key}`, 'beside a backoff that grows');
  }
  if (kind === EXPONENTIAL) {
    factor = FACTOR;
    most = longest;
  } else {
    fields.refuse('factor', `beside ${entry.key}`, 'beside exponential');
  }
  const n = fields.get('factor');
  if (n) factor = asFactor(problems, n) ?? factor;
  if (kind === LISTED) return listed ?? [CONSTANT];
  const max = fields.get('max');
  if (max) most = asDuration(problems, max, 1) ?? most;
  if (base !== undefined && kind !== CONSTANT && most && most < base) {
    if (max) problems.mistyped(max, `at least the base, ${entry.text}`);
    else problems.mistyped(entry, `at most the default max, ${mostIs}, or a max beside it`);
  }
  return base === undefined ? [CONSTANT] : [kind, base, factor, most];
}

/** A list of delays: its kind, how many there are, and each of them. */
function delays(problems: Problems, n: Node, least: number): Values | undefined {
  if (n.kind !== LIST || !n.items.length || n.items.length > MAX_DELAYS) {
    problems.mistyped(n, `a list of 1 to ${MAX_DELAYS} durations, as in [100ms, 1s, 5s]`);
    return undefined;
  }
  const list = n.items.flatMap((item) => asDuration(problems, item, least) ?? []);
  return list.length === n.items.length ? [LISTED, list.length, ...list] : undefined;
}

/** How long a breaker stays open: a duration, or a backoff in which a jitter may be named. */
export const openTime: Reader = (s, n) => {
  const { problems } = s;
  if (n.kind === TEXT) return [CONSTANT, asDuration(problems, n, 1) ?? 0n, 0, 0n, 0, 0];
  const fields = n.kind === MAP && new Fields(problems, n, [...SETTINGS, 'jitter']);
  if (fields) {
    const values = growth(fields, OPENINGS);
    const named = fields.get('jitter');
    return [...values, ...(named ? drawn(s, named, values) : [0, 0])];
  }
  problems.mistyped(n, `${DURATION_TEXT}; or a backoff as in {exponential: 10s, max: 5m}`);
  return [];
};

/** How long a block lasts: a duration, or a backoff that is not random. */
export const blockTime: Reader = ({ problems }, n) => {
  if (n.kind === TEXT) return [CONSTANT, asDuration(problems, n, 1) ?? 0n, 0, 0n];
  if (n.kind === MAP) return growth(new Fields(problems, n, [...BLOCKS.kinds, 'factor', 'max']), BLOCKS);
  problems.mistyped(n, `${DURATION_TEXT}; or a backoff as in {exponential: 1m, max: 1h}`);
  return [];
};

/** The jitter of the backoff before it. */
export const jitter: Reader = (s, n) => drawn(s, n, s.get('backoff'));

/** The jitter of a backoff that names none. */
export const defaultJitter = (kind: number | bigint): Values =>
  kind === 0 || kind === DECORRELATED ? [0, 0] : [JITTERS.indexOf('full'), 0];

function drawn({ problems }: { problems: Fields['problems'] }, n: Node, [backoff]: Values): Values {
  const allowed = 'none, full, equal, or a share as in 20%';
  const kind = n.kind === TEXT ? JITTERS.indexOf(n.text) : -1;
  const near = n.kind === TEXT ? nearest(n.text, JITTERS) : '';
  if (kind < 0 && near) {
    problems.mistyped(n, allowed, near);
    return [];
  }
  const share = kind < 0 ? asShare(problems, n, 1, WHOLE, allowed) : 0;
  if (share === undefined) return [];
  const none = KINDS[Number(backoff)] ?? '';
  if (kind !== 0 && (backoff === 0 || backoff === DECORRELATED)) {
    problems.fail(n, `jitter ${n.text} beside backoff ${none}`, 'jitter none beside it, or another backoff');
  }
  return kind < 0 ? [JITTERS.length, share] : [kind, 0];
}
