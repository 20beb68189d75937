import { fieldsOf } from './fields.js';
import type { Node } from './node.js';
import { MAX_KEYS } from './per.js';
import type { Problems } from './problems.js';
import { asInteger, asWord } from './quantities.js';

/** Reads the section for the filter of a proxy. */
export function checkProxy(problems: Problems, n: Node): void {
  const allowed = 'a map of state, slots and headers';
  const fields = fieldsOf(problems, n, allowed, ['state', 'slots', 'headers']);
  const state = fields?.get('state');
  if (state) asWord(problems, state, ['process', 'worker']);
  const slots = fields?.get('slots');
  if (slots) asInteger(problems, slots, 1, MAX_KEYS);
  const headers = fields?.get('headers');
  if (headers) asWord(problems, headers, ['refusals', 'all']);
}
