import { fieldsOf } from './fields.js';
import type { Node } from './node.js';
import { MAX_KEYS } from './per.js';
import type { Problems } from './problems.js';
import { asInteger, asWord, isText } from './quantities.js';

const SOURCE_TEXT =
  'header:NAME with the name in lower case, or property:PATH with names between slashes, as in property:connection/requested_server_name';
const SOURCE = /^(header:[a-z0-9!#$%&'*+.^_`|~-]+|property:[!-.0-~]+(\/[!-.0-~]+)*)$/;

/** Reads the section for the filter of a proxy. */
export function checkProxy(problems: Problems, n: Node): void {
  const allowed = 'a map of state, slots, headers, key, cost and trace';
  const fields = fieldsOf(problems, n, allowed, ['state', 'slots', 'headers', 'key', 'cost', 'trace']);
  const state = fields?.get('state');
  if (state) asWord(problems, state, ['process', 'worker']);
  const slots = fields?.get('slots');
  if (slots) asInteger(problems, slots, 1, MAX_KEYS);
  const headers = fields?.get('headers');
  if (headers) asWord(problems, headers, ['refusals', 'all']);
  const trace = fields?.get('trace');
  if (trace) asWord(problems, trace, ['off', 'sample', 'request']);
  for (const name of ['key', 'cost']) {
    const source = fields?.get(name);
    if (source && isText(problems, source, SOURCE_TEXT) && !SOURCE.test(source.text))
      problems.mistyped(source, SOURCE_TEXT);
  }
}
