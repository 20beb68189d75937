import { quote, shorten } from './bytes.js';
import { nearest, orList } from './names.js';
import { MAP, type Node } from './node.js';
import type { Problems } from './problems.js';

/** The entries of a map whose names are known. Unknown and double names are errors. */
export class Fields {
  private readonly found = new Map<string, Node>();
  /** Names that an unknown one is nearest to: no second error says that they are missing. */
  private readonly meant = new Set<string>();
  private strange = false;

  constructor(
    readonly problems: Problems,
    readonly node: Node,
    readonly known: readonly string[],
  ) {
    for (const entry of node.items) {
      const { key } = entry;
      const first = this.found.get(key);
      if (!known.includes(key)) {
        this.strange = true;
        this.meant.add(unknownName(problems, entry, known));
      } else if (first) {
        problems.double(entry, first);
      } else {
        this.found.set(key, entry);
      }
    }
  }

  /** These entries with another one in place of the entry of its name. */
  with(name: string, entry: Node): Fields {
    const found = new Map(this.found).set(name, entry);
    return Object.assign(Object.create(Fields.prototype) as object, this, { found }) as unknown as Fields;
  }

  /** The entry of a name. */
  get(name: string): Node | undefined {
    return this.found.get(name);
  }

  /** Whether an unknown name is near to this one. */
  means(name: string): boolean {
    return this.meant.has(name);
  }

  /** The entry of a name that must be there; `allowed` describes its value. */
  need(name: string, allowed: string): Node | undefined {
    const entry = this.found.get(name);
    if (!entry && !this.meant.has(name)) this.problems.missing(this.node, name, allowed);
    return entry;
  }

  /** Reports an entry that is not allowed in its place. */
  refuse(name: string, found: string, allowed: string): void {
    const entry = this.found.get(name);
    if (entry) this.problems.failKey(entry, `${name} ${found}`, `${name} ${allowed}`);
  }

  /** The one of some names that is there. None or two are an error, none unless an unknown name is in their place. */
  oneOf(names: readonly string[], allowed: string): Node | undefined {
    const [first, second] = this.known.flatMap(
      (name) => (names.includes(name) && this.found.get(name)) || [],
    );
    if (second) {
      const name = shorten(second.key);
      this.problems.failKey(second, `${name} beside ${(first as Node).key}`, `${name} alone: ${allowed}`);
      return undefined;
    }
    if (!first && !this.strange) this.problems.fail(this.node, `none of ${orList(names)}`, allowed);
    return first;
  }
}

/** Reads a node as a map of the known names; undefined where it is no map, which is an error. */
export function fieldsOf(
  problems: Problems,
  node: Node,
  allowed: string,
  known: readonly string[],
): Fields | undefined {
  if (node.kind === MAP) return new Fields(problems, node, known);
  problems.mistyped(node, allowed);
  return undefined;
}

/** Reports an entry whose name is none of the known ones, and returns the nearest of them. */
export function unknownName(problems: Problems, entry: Node, known: readonly string[]): string {
  const near = problems.full ? '' : nearest(entry.key, known);
  problems.failKey(entry, `the unknown name ${quote(entry.key)}`, orList(known), near);
  return near;
}
