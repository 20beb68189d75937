import { textOf } from './bytes.js';
import { BOOL, LIST, MAP, type Node, NULL, NUMBER } from './node.js';

/** The value of a node that has no error, as JSON has it. */
export function writtenValue({ kind, text, items }: Node): unknown {
  if (kind === NULL) return null;
  if (kind === BOOL) return text === 'true';
  if (kind === NUMBER) return Number(text);
  if (kind === LIST) return items.map(writtenValue);
  if (kind === MAP) return Object.fromEntries(items.map((item) => [textOf(item.key), writtenValue(item)]));
  return textOf(text);
}
