import { quote } from './bytes.js';
import { orList } from './names.js';
import { LIST } from './node.js';
import { asWord } from './quantities.js';
import type { Reader } from './settings.js';

/** One of some words or a list of them, as a set: a bit for each, 0 for all. */
export const words: Reader = ({ problems }, n, { words: text = '' }) => {
  const list = text.split(' ');
  if (n.kind === LIST && !n.items.length) {
    problems.mistyped(n, `${orList(list)}, or a list of them`);
    return undefined;
  }
  let set = 0;
  let whole = true;
  for (const item of n.kind === LIST ? n.items : [n]) {
    const index = asWord(problems, item, list);
    if (index === undefined) whole = false;
    else if (set & (1 << index)) {
      problems.fail(item, `${quote(item.text)} again`, 'each word once');
      whole = false;
    } else set |= 1 << index;
  }
  return whole ? [set === (1 << list.length) - 1 ? 0 : set] : undefined;
};
