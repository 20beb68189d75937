import type { Problem } from '../base/errors.js';
import { quote, shorten, textOf } from './bytes.js';
import type { Places } from './json.js';
import { BAD, BOOL, LIST, MAP, type Node, NULL, NUMBER, TEXT } from './node.js';
import type { SharedMechanism } from './result.js';

/** One error of a document. Its texts are in bytes. */
interface Noted {
  readonly node: Node;
  /** Whether it is an error of the key of the node. */
  readonly atKey: boolean;
  readonly at: number;
  readonly path: string;
  readonly found: string;
  readonly allowed: string;
  readonly nearest: string;
  /** What takes the node from elsewhere in the document. */
  readonly taker: Node | undefined;
}

/** The most errors that are reported one by one. */
const MAX_ERRORS = 1000;

/** Collects the errors of one document. */
export class Problems {
  private list: Noted[] = [];
  /** Errors past the greatest number. */
  private more = 0;
  /** The policy being read where policies take settings from elsewhere in the document, and its step. */
  within: Node | undefined;
  item: Node | undefined;
  /** The mechanisms that steps may use. */
  readonly shared = new Map<string, SharedMechanism>();

  /** `places` is undefined for values of a program. */
  constructor(private readonly places?: Places) {}

  /** Whether further errors are only counted. */
  get full(): boolean {
    return this.list.length >= MAX_ERRORS;
  }

  /** Whether there is no error. */
  get none(): boolean {
    return this.list.length === 0;
  }

  /** Notes an error of a node, whatever it is. */
  note(node: Node, found: string, allowed: string, nearest = '', path = pathOf(node), atKey = false): void {
    const at = atKey ? node.keyAt : node.at;
    if (this.full) this.more++;
    else this.list.push({ node, atKey, at, path, found, allowed, nearest, taker: this.taker(node) });
  }

  /** What takes a node from elsewhere: the step being read, or its policy where the step is elsewhere too. */
  private taker(node: Node): Node | undefined {
    const { within, item } = this;
    if (!within || isPart(node, within)) return undefined;
    return item && isPart(item, within) ? item : within;
  }

  /** Notes an error of a node that can be read. */
  fail(node: Node, found: string, allowed: string, nearest?: string): void {
    if (node.kind !== BAD) this.note(node, found, allowed, nearest);
  }

  /** Notes an error of the key of an entry. */
  failKey(entry: Node, found: string, allowed: string, nearest?: string): void {
    this.note(entry, found, allowed, nearest, undefined, true);
  }

  /** Notes that a node is of another type than allowed. */
  mistyped(node: Node, allowed: string, nearest?: string): void {
    this.fail(node, describe(node), allowed, nearest);
  }

  /** Notes that a node has no entry of a name. */
  missing(node: Node, name: string, allowed: string): void {
    const path = joinPath(pathOf(node), name);
    if (node.kind !== BAD) this.note(node, 'nothing', `${allowed}; it is required`, '', path);
  }

  /** Notes a list or a map with more items than there may be. */
  atMost(most: number, node: Node, what: string): void {
    const { length } = node.items;
    if (length > most) this.fail(node, `${length} ${what}`, `at most ${most}`);
  }

  /** Drops the errors of a node and of its content. */
  forget(whole: Node): void {
    this.list = this.list.filter(({ node, atKey }) => (atKey && node === whole) || !isIn(node, whole));
  }

  /** How many errors there are. */
  get mark(): number {
    return this.list.length;
  }

  /** Drops the errors from a mark on that are there already. */
  dropTwins(mark: number): void {
    for (const one of this.list.splice(mark)) {
      const isTwin = ({ node, atKey, path, found, allowed }: Noted): boolean =>
        node === one.node &&
        atKey === one.atKey &&
        path === one.path &&
        found === one.found &&
        allowed === one.allowed;
      if (!this.list.some(isTwin)) this.list.push(one);
    }
  }

  /** Notes the second entry of a name. */
  double(entry: Node, first: Node): void {
    const [line] = this.places?.of(first.keyAt) ?? [];
    this.failKey(entry, `the name ${quote(entry.key)} again`, `each name once; the first is on line ${line}`);
  }

  /** All errors in the order of their places. */
  all(): Problem[] {
    // What a policy takes from a place that has an error itself must be mended there first.
    const wrong = new Set(this.list.filter(({ taker }) => !taker).map(({ at }) => at));
    const all = this.list
      .filter(({ taker, at }) => !taker || !wrong.has(at))
      .sort((a, b) => a.at - b.at)
      .map(({ at, path, found, allowed, nearest, taker }) => {
        const by = taker ? `, taken by ${pathOf(taker)}` : '';
        const [near, place] = [textOf(nearest), this.places?.of(at)];
        return problem(textOf(path), textOf(found + by), textOf(allowed), near, place);
      });
    const rest = 'none; they show once those above are mended';
    if (this.more) all.push(problem('', `${this.more} more errors`, rest));
    return all;
  }
}

/** An error as callers get it. */
export const problem = (
  path: string,
  found: string,
  allowed: string,
  nearest = '',
  [line, column]: readonly [number?, number?] = [],
): Problem => ({ path, found, allowed, nearest: nearest || undefined, line, column });

/** Whether a node is another one or in it. */
function isIn(node: Node | undefined, whole: Node): boolean {
  return node !== undefined && (node === whole || isIn(node.up, whole));
}

/** Whether a node of the source is in a policy, which may be a copy. */
function isPart(node: Node | undefined, policy: Node): boolean {
  if (!node) return false;
  return (node.up === policy.up && node.index === policy.index) || isPart(node.up, policy);
}

/** The path from the root to a node. */
function pathOf(node: Node): string {
  const { up } = node;
  if (!up) return '';
  return up.kind === LIST ? `${pathOf(up)}[${node.index}]` : joinPath(pathOf(up), node.key);
}

/** The path of a name inside a path, quoted when it is none that a document may have. */
function joinPath(path: string, name: string): string {
  if (!/^[\w$-]+$/.test(name)) return `${path}[${quote(name)}]`;
  return (path && `${path}.`) + shorten(name);
}

/** What a node is, for an error. */
export function describe({ kind, text, items }: Node): string {
  if (kind === BOOL) return shorten(text);
  if (kind === NUMBER) return `the number ${shorten(text)}`;
  if (kind === TEXT) return `the text ${quote(text)}`;
  if (kind === NULL) return 'nothing';
  return `${items.length ? 'a' : 'an empty'} ${kind === MAP ? 'map' : 'list'}`;
}
