import { shorten } from './bytes.js';
import { fieldsOf } from './fields.js';
import { nearest } from './names.js';
import { LIST, type Node, NUMBER, TEXT } from './node.js';
import type { Problems } from './problems.js';
import { parseWhole } from './quantities.js';

const CLASSES = ['fail', 'throttle', 'ignore'];
/** The entries that are no single status. */
const NAMES = ['connect', 'reset', 'timeout', '1xx', '2xx', '3xx', '4xx', '5xx'];
const CLASS_TEXT = 'a status from 100 to 599, 1xx to 5xx, connect, reset or timeout';

/** Reads what answers and errors of HTTP mean. Each may be in one class once. */
export function checkOutcomes(problems: Problems, n: Node): void {
  const fields = fieldsOf(problems, n, 'a map of fail, throttle and ignore', CLASSES);
  /** The class of each entry. */
  const classes = new Map<string, string>();
  for (const name of CLASSES) {
    const list = fields?.get(name);
    if (!list) continue;
    if (list.kind !== LIST) problems.mistyped(list, `a list of these: ${CLASS_TEXT}`);
    else for (const item of list.items) checkEntry(problems, item, name, classes);
  }
}

const isStatus = (status: number): boolean => status >= 100 && status <= 599;

/** Reads a status, a hundred of them, or a failure. */
function checkEntry(problems: Problems, n: Node, name: string, classes: Map<string, string>): void {
  const { kind, text } = n;
  if (kind === NUMBER ? isStatus(parseWhole(text)) : kind === TEXT && NAMES.includes(text)) {
    const other = classes.get(text);
    if (other) problems.fail(n, `${shorten(text)} again`, `each in one class once; it is in ${other}`);
    classes.set(text, name);
    return;
  }
  let near = '';
  if (kind === TEXT) {
    near = nearest(text, NAMES);
    if (/^\+?\d+$/.test(text) && isStatus(Number(text))) near = text.slice(-3);
  }
  problems.mistyped(n, CLASS_TEXT, near);
}
