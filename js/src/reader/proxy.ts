import { prefixOf } from '../base/prefixes.js';
import { fieldsOf } from './fields.js';
import { LIST, type Node } from './node.js';
import { MAX_KEYS } from './per.js';
import type { Problems } from './problems.js';
import { asBool, asInteger, asWord, isText } from './quantities.js';

const SOURCE_TEXT =
  'header:NAME with the name in lower case, or property:PATH with names between slashes, as in property:connection/requested_server_name';
const SOURCE = /^(header:[a-z0-9!#$%&'*+.^_`|~-]+|property:[!-.0-~]+(\/[!-.0-~]+)*)$/;

const PREFIX_TEXT = 'an address or a prefix, as in 10.0.0.0/8 or 2001:db8::/32';

function checkPrefix(problems: Problems, n: Node, allowed: string): void {
  if (isText(problems, n, allowed) && !prefixOf(n.text)) problems.mistyped(n, allowed);
}

const SETTINGS = [
  'state',
  'slots',
  'headers',
  'legacy_headers',
  'ratelimited_header',
  'trusted_proxies',
  'ipv4_prefix',
  'ipv6_prefix',
  'key',
  'cost',
  'trace',
];

/** How many bits of an address count at most. */
const BITS = [
  ['ipv4_prefix', 32],
  ['ipv6_prefix', 128],
] as const;

/** Reads the section for the filter of a proxy. */
export function checkProxy(problems: Problems, n: Node): void {
  const fields = fieldsOf(problems, n, 'a map of settings', SETTINGS);
  const state = fields?.get('state');
  if (state) asWord(problems, state, ['process', 'worker']);
  const slots = fields?.get('slots');
  if (slots) asInteger(problems, slots, 1, MAX_KEYS);
  const headers = fields?.get('headers');
  if (headers) asWord(problems, headers, ['refusals', 'all']);
  for (const name of ['legacy_headers', 'ratelimited_header']) {
    const given = fields?.get(name);
    if (given) asBool(problems, given);
  }
  const trusted = fields?.get('trusted_proxies');
  if (trusted?.kind === LIST) for (const one of trusted.items) checkPrefix(problems, one, PREFIX_TEXT);
  else if (trusted) checkPrefix(problems, trusted, `${PREFIX_TEXT}, or a list of them`);
  for (const [name, most] of BITS) {
    const bits = fields?.get(name);
    if (bits) asInteger(problems, bits, 1, most);
  }
  const trace = fields?.get('trace');
  if (trace) asWord(problems, trace, ['off', 'sample', 'request', 'record']);
  for (const name of ['key', 'cost']) {
    const source = fields?.get(name);
    if (source && isText(problems, source, SOURCE_TEXT) && !SOURCE.test(source.text))
      problems.mistyped(source, SOURCE_TEXT);
  }
}
