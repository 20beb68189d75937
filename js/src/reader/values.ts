import { shown } from '../base/shown.js';
import { bytesOf } from './bytes.js';
import { AT_MOST, HALF, NUL, SyntaxProblem, TOO_DEEP } from './json.js';
import { BOOL, type Kind, LIST, MAP, MAX_BYTES, MAX_DEPTH, type Node, NULL, NUMBER, TEXT } from './node.js';
import type { Problems } from './problems.js';

const KINDS: { readonly [type: string]: Kind } = { boolean: BOOL, number: NUMBER, string: TEXT };
const JSON_HAS = 'what JSON has';

/** Reads values of a program as JSON has them. What it does not have is an error. */
export class ValueReader {
  /** The objects that the present value is in. */
  private readonly around: object[] = [];
  /** How many keys and values there were, and the bytes of them and their texts at least. */
  private count = 0;
  private size = 0;

  constructor(private readonly problems: Problems) {}

  /** Reads a value into a node. */
  read(value: unknown, node: Node): void {
    node.at = this.next();
    const { around, problems } = this;
    const kind = KINDS[typeof value];
    if (value == null) {
      node.kind = NULL;
    } else if (typeof value === 'object') {
      if (around.includes(value)) problems.note(node, 'itself', JSON_HAS);
      else if (around.length === MAX_DEPTH) problems.note(node, ...TOO_DEEP);
      else this.inner(value, node);
    } else if (!kind || (kind === NUMBER && !Number.isFinite(value))) {
      problems.note(node, shown(value), JSON_HAS);
    } else {
      const text = String(value);
      if (text.includes('\0')) problems.note(node, ...NUL);
      else if (/[\ud800-\udfff]/u.test(text)) problems.note(node, ...HALF);
      else node.kind = kind;
      node.text = this.bytes(text);
    }
  }

  private inner(value: object, node: Node): void {
    const list = Array.isArray(value);
    node.kind = list ? LIST : MAP;
    this.around.push(value);
    for (const [key, one] of Object.entries(value)) {
      if (one === undefined && !list) continue;
      const item = node.add();
      if (!list) {
        item.key = this.bytes(key);
        item.keyAt = this.next();
      }
      this.read(one, item);
    }
    this.around.pop();
  }

  /** The place of the next key or value. */
  private next(): number {
    this.grow(1);
    return ++this.count;
  }

  private bytes(text: string): string {
    const bytes = bytesOf(text);
    this.grow(bytes.length);
    return bytes;
  }

  private grow(by: number): void {
    this.size += by;
    if (this.size > MAX_BYTES) throw new SyntaxProblem(undefined, `more than ${MAX_BYTES} bytes`, AT_MOST);
  }
}
