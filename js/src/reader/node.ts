/** What a node is. */
export type Kind = 0 | 1 | 2 | 3 | 4 | 5 | 6;

/** In place of a value whose error has been reported already. */
export const BAD = 0;
export const NULL = 1;
export const BOOL = 2;
export const NUMBER = 3;
export const TEXT = 4;
export const LIST = 5;
export const MAP = 6;

/** How deep lists and maps may be nested. */
export const MAX_DEPTH = 32;
/** The greatest size of a document. */
export const MAX_BYTES = 2 ** 20;

/** A value of a document. Its texts have one character for each byte of their UTF-8, see bytes.ts. */
export class Node {
  kind: Kind = BAD;
  /** A bool or a number as written; a text without its escapes. */
  text = '';
  /** Where it begins: an offset in a text, or how many keys and values come before it. */
  at = 0;
  /** The key of an entry of a map, and where it begins. */
  key = '';
  keyAt = 0;
  /** Its position in `up`. */
  index = 0;
  /** The items of a list or the entries of a map, double keys included. */
  readonly items: Node[] = [];

  /** `up` is the list or the map that has it. */
  constructor(readonly up?: Node) {}

  /** Adds an empty node behind the items. */
  add(): Node {
    const item = new Node(this);
    item.index = this.items.length;
    this.items.push(item);
    return item;
  }
}
