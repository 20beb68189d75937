import { lower, quote, shorten } from './bytes.js';
import type { Fields } from './fields.js';
import { LONGEST_NAME, nearest } from './names.js';
import { LIST, type Node } from './node.js';
import type { Problems } from './problems.js';
import { asInteger, asWord, isText } from './quantities.js';
import type { KeySettings } from './result.js';

/** The attributes, and those that have a name behind. */
export const PLAIN = ['key', 'ip', 'host', 'method', 'path', 'route'];
const NAMED = ['header', 'cookie', 'query'];
const PER_TEXT =
  'key, ip, header:NAME, cookie:NAME, query:NAME, host, method, path or route, or a list of them';
/** The most attributes of a list. */
const MAX_PER = 16;

/** A token of HTTP, which the names of headers and cookies are; and the name of a parameter of a query, decoded. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const PARAMETER = /^[^\0- \x7f]+$/;

/** Reads one attribute or a list of them. */
function per(problems: Problems, n: Node): string[] {
  if (n.kind !== LIST) return [attribute(problems, n, PLAIN, PER_TEXT)[0]];
  const { length } = n.items;
  if (!length) problems.mistyped(n, PER_TEXT);
  if (length > MAX_PER) {
    problems.fail(n, `a list of ${length}`, `at most ${MAX_PER} attributes`);
    return [];
  }
  const list: string[] = [];
  for (const item of n.items) {
    const [name] = attribute(problems, item, PLAIN, PER_TEXT);
    if (name && list.includes(name)) problems.fail(item, `${quote(item.text)} again`, 'each attribute once');
    list.push(name);
  }
  return list;
}

/**
 * Reads one attribute, one of the plain ones or one with a name behind, and whether it is one. The names of headers, which
 * have no case, are in lower case, so that one of them has one spelling.
 */
export function attribute(
  problems: Problems,
  n: Node,
  plain: readonly string[],
  texts: string,
): [text: string, whole: boolean] {
  if (!isText(problems, n, texts)) return ['', false];
  const { text } = n;
  if (plain.includes(text)) return [text, true];
  const colon = text.indexOf(':');
  const kind = colon < 0 ? text : text.slice(0, colon);
  const name = text.slice(colon + 1);
  const known = NAMED.includes(kind);
  const valid = (kind === 'query' ? PARAMETER : TOKEN).test(name);
  let allowed = texts;
  let near = '';
  if (colon < 0) {
    if (known) allowed = `${shorten(text)}:NAME`;
    else near = nearest(kind, [...plain, ...NAMED]);
  } else if (!known) {
    near = name.length > LONGEST_NAME ? '' : nearest(kind, NAMED);
    if (near) near += text.slice(colon);
  } else if (!valid) {
    allowed = `${kind}:NAME with a valid name behind the colon`;
  } else if (kind === 'header' && /[A-Z]/.test(name)) {
    allowed = 'the name of a header in lower case';
    near = quote(lower(text));
  } else {
    return [text, true];
  }
  problems.mistyped(n, allowed, near);
  return [text, false];
}

/** The greatest number of keys of a step, and the default. */
export const MAX_KEYS = 10_000_000;
const DEFAULT_KEYS = 100_000;

const MISSING = ['share', 'deny', 'skip', 'deny-401', 'deny-403'];

/** Reads `per`, and how many keys there may be; `alone` says that these need `per`. */
export const readKeys = (fields: Fields, step: KeySettings, alone = true): void => {
  const { problems } = fields;
  const n = fields.get('per');
  if (n) step.per = per(problems, n);
  if (!n && alone) {
    if (fields.means('per')) return;
    for (const name of ['keys', 'when_full', 'missing']) fields.refuse(name, 'without per', 'beside per');
    return;
  }
  const keys = fields.get('keys');
  step.keys = (keys && asInteger(problems, keys, 1, MAX_KEYS)) ?? DEFAULT_KEYS;
  const whenFull = fields.get('when_full');
  if (whenFull) step.whenFull = asWord(problems, whenFull, ['evict', 'share']) ?? 0;
  const missing = fields.get('missing');
  if (missing) step.missing = asWord(problems, missing, MISSING) ?? 0;
};
