import { lower } from './bytes.js';
import { type Fields, fieldsOf } from './fields.js';
import { LONGEST_NAME } from './names.js';
import { type Node, TEXT } from './node.js';
import type { Problems } from './problems.js';
import {
  asWord,
  DURATION_TEXT,
  isText,
  isWrong,
  nearDuration,
  parseDuration,
  parsePeriod,
  parseWhole,
  UNIT_NAMES,
  type Wrong,
} from './quantities.js';
import { unknownPolicy } from './unknown-policy.js';

/** Names of the settings of a route; the document has one more. */
const SETTINGS = ['body', 'stream_idle', 'lifetime', 'paths'];

/** What a request may get that no route matches, besides the policy of a name. */
const UNMATCHED = ['pass', 'deny'];
const UNMATCHED_TEXT = 'pass, deny, or the name of a policy of this document';

const isNone = ({ kind, text }: Node): boolean => kind === TEXT && text === 'none';

/** Reads the section of a document with policies of these names. */
export function checkDocumentHTTP(problems: Problems, n: Node, names: readonly string[]): void {
  const unmatched = checkHTTP(problems, n, [...SETTINGS, 'default'])?.get('default');
  if (!unmatched || !isText(problems, unmatched, UNMATCHED_TEXT)) return;
  const { text } = unmatched;
  const known = [...UNMATCHED, ...names];
  if (!known.includes(text)) unknownPolicy(problems, unmatched, text, known, { allowed: UNMATCHED_TEXT });
}

/** Reads the settings of a route. */
export function checkHTTP(problems: Problems, n: Node, known = SETTINGS): Fields | undefined {
  const fields = fieldsOf(problems, n, 'a map of settings', known);
  const body = fields?.get('body');
  if (body) checkBody(problems, body);
  checkDurations(fields, 'stream_idle', 'lifetime');
  const paths = fields?.get('paths');
  if (paths) asWord(problems, paths, ['clean', 'strict', 'exact_bytes']);
  return fields;
}

/** Reads how long a client may take for the body of its request. */
function checkBody(problems: Problems, n: Node): void {
  const fields = fieldsOf(problems, n, 'a map of timeout and min_rate', ['timeout', 'min_rate']);
  checkDurations(fields, 'timeout');
  const rate = fields?.get('min_rate');
  if (rate && !isNone(rate)) checkByteRate(problems, rate);
}

/** Reads entries that are durations or none. */
function checkDurations(fields: Fields | undefined, ...names: readonly string[]): void {
  for (const name of names) {
    const n = fields?.get(name);
    if (!n || isNone(n)) continue;
    const duration = parseDuration(n.text, 1);
    if (n.kind === TEXT && !isWrong(duration)) continue;
    const near = n.kind === TEXT && duration === 'malformed' ? nearDuration(n.text, 1) : '';
    fields?.problems.mistyped(n, `none, or ${DURATION_TEXT}; more than 0`, near);
  }
}

/** The units of a byte rate, each 1024 times the one before. */
const UNITS = ['B', 'KiB', 'MiB', 'GiB'];
/** The most bytes of a rate, 1 TiB. */
const MAX_BYTES = 2 ** 40;

/** What is wrong with a byte rate: COUNT, a unit, and /DURATION. */
function wrongByteRate(text: string): Wrong | undefined {
  const [, digits = '', unit = '', duration = ''] = /^(\d*)([^/]*)\/(.*)$/s.exec(text) ?? [];
  const count = parseWhole(digits);
  const size = UNITS.indexOf(unit);
  if (size < 0 || Number.isNaN(count)) return 'malformed';
  const period = parsePeriod(duration, 1);
  if (isWrong(period)) return period;
  return count === 0 || count > MAX_BYTES / 1024 ** size ? 'miscount' : undefined;
}

function checkByteRate(problems: Problems, n: Node): void {
  const wrong = wrongByteRate(n.text);
  if (n.kind === TEXT && !wrong) return;
  const few = n.kind === TEXT && wrong === 'miscount';
  problems.mistyped(
    n,
    few
      ? 'a byte rate of at least 1 byte and at most 1024GiB for the duration'
      : `none, or a byte rate COUNT UNIT/DURATION as in 1KiB/s, the unit B, KiB, MiB or GiB, ${UNIT_NAMES}`,
    n.kind === TEXT && wrong === 'malformed' ? nearByteRate(n.text) : '',
  );
}

/** A byte rate with its unit corrected; empty for a text that is not near one: 64kb/s is 64KiB/s. */
function nearByteRate(text: string): string {
  if (text.length > LONGEST_NAME) return '';
  const [, digits, unit = '', rest] = /^(\d*) *(bytes?|b|[kmg](?:i?b)?) *(\/.*)$/s.exec(lower(text)) ?? [];
  const [size = ''] = unit;
  const near = `${digits}${size === 'b' ? 'B' : `${size.toUpperCase()}iB`}${rest}`;
  return wrongByteRate(near) ? '' : near;
}
