import { quote } from './bytes.js';
import { orList } from './names.js';
import { LIST, type Node } from './node.js';
import type { Problems } from './problems.js';
import { asWord } from './quantities.js';
import type { Reader } from './settings.js';

// A function, because bundlers keep a list that nothing uses: the minifier cuts it from a text.
const methodNames = (): string[] => [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
];

/** Reads one method or a list of them. The core has no use for them. */
export const methods: Reader = ({ problems }, n) => {
  readMethods(problems, n);
  return [];
};

export function readMethods(problems: Problems, n: Node): void {
  const names = methodNames();
  const items = n.kind === LIST ? n.items : [n];
  if (!items.length) problems.mistyped(n, `one or more of ${orList(names)}`);
  const seen: string[] = [];
  for (const item of items) {
    if (asWord(problems, item, names) === undefined) continue;
    if (seen.includes(item.text)) problems.fail(item, `${quote(item.text)} again`, 'each method once');
    seen.push(item.text);
  }
}
