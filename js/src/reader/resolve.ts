// Plain policies: without `extends`, and with the defaults of the document in their steps. A node of the
// source that several policies take is shared, so that it keeps its place and its path.

import { quote } from './bytes.js';
import { fieldsOf } from './fields.js';
import { findMechanism, MAX_STEPS, stepEntry } from './find.js';
import { mechanismOf, USE } from './mechanisms.js';
import { nearest, orList, POLICY_NAMES, POLICY_TEXT } from './names.js';
import { BAD, BOOL, LIST, MAP, Node, TEXT } from './node.js';
import type { Problems } from './problems.js';
import { isText } from './quantities.js';
import { type Mechanism, shortOf } from './settings.js';
import { unknownPolicy } from './unknown-policy.js';

/** The most policies that one policy extends, one after another. */
const MAX_EXTENDS = 16;
/** The most values that policies take from defaults and from the policies that they extend. */
const MAX_TAKEN = 250_000;

/** A copy of a node at its place, with other items. */
export const copy = (n: Node, items: readonly Node[], change: Partial<Node> = {}): Node =>
  Object.assign(new Node(n.up), n, { items: [...items] }, change);

/** The first entry of a name in a map. */
const entryOf = (n: Node, name: string): Node | undefined =>
  n.kind === MAP ? n.items.find(({ key }) => key === name) : undefined;

/** A node in the place of one whose errors are reported. */
const bad = (n: Node): Node => copy(n, [], { kind: BAD });

/** How many nodes a node is, with all in it. */
const size = (n: Node): number => n.items.reduce((count, item) => count + size(item), 1);

/** The settings of a mechanism as a map, also of a short form; undefined for what is neither. */
export function settingsOf(entry: Node, mechanism = mechanismOf(entry.key) as Mechanism): Node | undefined {
  if (entry.kind === MAP) return entry;
  const short =
    entry.key === USE ? entry.kind === TEXT && { name: 'mechanism' } : shortOf(mechanism.row, entry.kind);
  if (!short) return undefined;
  const value = Object.assign(new Node(entry), {
    kind: entry.kind,
    text: entry.text,
    at: entry.at,
    key: short.name,
    keyAt: entry.at,
  });
  return copy(entry, [value], { kind: MAP });
}

/** The settings of a mechanism, with the settings of another node for what they leave out. */
function merge(below: Node, own: Node): Node | undefined {
  const from = settingsOf(below);
  const to = settingsOf(own);
  if (!from || !to) return undefined;
  return copy(to, [...from.items.filter(({ key }) => !entryOf(to, key)), ...to.items]);
}

/** A step of a policy that extends another one. */
interface Placed {
  item: Node;
  readonly name: string;
  changed: boolean;
}

/** The node that has the name of a step: the node of a shared mechanism where it uses one. */
function nameIn(entry: Node | undefined): Node | undefined {
  const name = entry && entryOf(entry, 'name');
  if (name || entry?.key !== USE) return name;
  return entry.kind === MAP ? entryOf(entry, 'mechanism') : entry;
}

/** The name that a step states, or the name of the shared mechanism which it uses, empty for none. */
function nameOf(item: Node): string {
  const name = nameIn(stepEntry(item));
  return name?.kind === TEXT ? name.text : '';
}

const numbered = (kind: string, count: number): string => (count === 1 ? kind : `${kind}-${count}`);

/** The name of a step without one: its mechanism, and its number from the second one of the mechanism on. */
const unnamed = (kind: string, before: readonly { item: Node }[]): string =>
  numbered(kind, 1 + before.filter(({ item }) => stepEntry(item)?.key === kind).length);

/** A step that states its name where it would have another one. */
function stated({ item, name }: Placed, before: readonly Placed[]): Node {
  const entry = stepEntry(item);
  if (!entry || nameOf(item) || entryOf(entry, 'name') || unnamed(entry.key, before) === name) return item;
  const settings = settingsOf(entry);
  if (!settings) return item;
  const { at, keyAt } = entry;
  const node = Object.assign(new Node(entry), { kind: TEXT, text: name, key: 'name', at, keyAt });
  return copy(item, [copy(settings, [node, ...settings.items])]);
}

/** Returns the mechanisms of a document with the defaults. */
export function mechanismSteps(problems: Problems, source: Node, most: number, defaults?: Node): Node {
  if (!defaults || source.kind !== MAP || source.items.length > most) return source;
  const resolver = new Resolver(problems, [], defaults);
  return copy(
    source,
    source.items.map((item) => resolver.step(item)),
  );
}

/** Returns the policies of a document without `extends` and with the defaults in their steps. */
export function resolve(problems: Problems, policies: Node, maxPolicies: number, defaults?: Node): Node {
  if (policies.kind !== MAP || policies.items.length > maxPolicies) return policies;
  const resolver = new Resolver(problems, policies.items, defaults);
  return resolver.needed
    ? copy(
        policies,
        policies.items.map((_, i) => resolver.policy(i)),
      )
    : policies;
}

class Resolver {
  /** Whether any policy extends one or takes defaults. */
  readonly needed: boolean;
  /** Of each policy the one that it extends, or none, or one whose error is reported. */
  private readonly bases: readonly (number | 'none' | 'bad')[];
  private readonly plain: (Node | undefined)[] = [];
  private taken = 0;

  constructor(
    readonly problems: Problems,
    private readonly policies: readonly Node[],
    private readonly defaults: Node | undefined,
  ) {
    this.bases = policies.map((own) => this.base(own));
    this.needed = defaults !== undefined || this.bases.some((base) => base !== 'none');
  }

  private base(own: Node): number | 'none' | 'bad' {
    const { problems, policies } = this;
    const entry = entryOf(own, 'extends');
    if (!entry) return 'none';
    if (!isText(problems, entry, 'the name of a policy of this document')) return 'bad';
    const base = policies.findIndex(({ key }) => key === entry.text);
    if (base >= 0) return base;
    const names = policies.map(({ key }) => key);
    unknownPolicy(problems, entry, entry.text, names);
    return 'bad';
  }

  /** A plain policy, a bad node for one that has none. */
  policy(i: number): Node {
    const own = this.policies[i] as Node;
    const base = this.bases[i] as number | 'none' | 'bad';
    const plain =
      this.plain[i] ??
      (base === 'none'
        ? this.defaulted(own)
        : base === 'bad' || !this.ends(i)
          ? bad(own)
          : this.extended(own, this.policy(base)));
    this.plain[i] = plain;
    return plain;
  }

  /** Whether the policies that a policy extends end with one that extends none. A cycle is reported at each of its policies. */
  private ends(i: number): boolean {
    const { problems } = this;
    const entry = entryOf(this.policies[i] as Node, 'extends') as Node;
    const path: number[] = [i];
    for (let at = this.bases[i]; at !== 'none'; at = this.bases[at as number]) {
      if (at === 'bad') return false;
      if (at === i) {
        const found = `the policy ${quote(entry.text)}, which extends this one`;
        problems.fail(entry, found, 'a policy that does not extend this one');
        return false;
      }
      if (path.length > MAX_EXTENDS) {
        const found = `a chain of more than ${MAX_EXTENDS} policies`;
        problems.fail(entry, found, `at most ${MAX_EXTENDS} that extend one another`);
        return false;
      }
      if (path.includes(at as number)) return false;
      path.push(at as number);
    }
    return true;
  }

  /** Counts the values of a node that a policy takes, and reports at a node of the policy when they are too many. */
  private take(n: Node, at: Node): boolean {
    if (this.taken > MAX_TAKEN) return false;
    this.taken += size(n);
    if (this.taken <= MAX_TAKEN) return true;
    this.problems.fail(at, `defaults and extends that add more than ${MAX_TAKEN} values`, 'at most so many');
    return false;
  }

  /** A policy with the defaults in its steps. */
  private defaulted(own: Node): Node {
    const steps = entryOf(own, 'steps');
    if (!this.defaults || steps?.kind !== LIST) return own;
    const list = copy(
      steps,
      steps.items.map((item) => this.step(item)),
    );
    return copy(
      own,
      own.items.map((entry) => (entry === steps ? list : entry)),
    );
  }

  /** A step with the defaults of its mechanism. */
  step(item: Node): Node {
    const entry = stepEntry(item);
    const given = entry && entry.key !== USE ? this.defaults && entryOf(this.defaults, entry.key) : undefined;
    if (!entry || !given || !this.take(given, entry)) return item;
    const off = entryOf(entry, 'defaults');
    if (off?.kind === BOOL && off.text === 'false') {
      return copy(item, [
        copy(
          entry,
          entry.items.filter((one) => one !== off),
        ),
      ]);
    }
    const merged = merge(given, entry);
    return merged ? copy(item, [merged]) : item;
  }

  /** A policy that changes another one, which is plain. */
  private extended(own: Node, base: Node): Node {
    const { problems } = this;
    const fields = fieldsOf(problems, own, POLICY_TEXT, POLICY_NAMES);
    const entry = fields?.get('extends');
    if (!fields || !entry) return bad(own);
    for (const name of ['steps', 'pass']) {
      const beside = fields.get(name);
      if (beside) problems.failKey(beside, `${name} beside extends`, 'change, add and remove beside extends');
    }
    const given = entryOf(base, 'steps');
    const pass = given ? undefined : entryOf(base, 'pass');
    const items = given?.kind === LIST ? given.items : pass && [];
    if (!items || items.length > MAX_STEPS || !this.take(base, entry)) return bad(own);
    const extension = new Extension(this, items);
    const remove = fields.get('remove');
    if (remove) extension.remove(remove);
    extension.each(fields.get('change'), extension.change);
    extension.each(fields.get('add'), extension.add);
    const { list } = extension;
    const steps = pass && !list.length ? pass : undefined;
    const taken = ['allow', 'deny', 'fallback', 'outcomes'].map(
      (name) => fields.get(name) ?? entryOf(base, name),
    );
    const named = list.map((placed, i) => stated(placed, list.slice(0, i)));
    const all = [
      fields.get('description'),
      ...taken,
      steps ?? copy(entry, named, { kind: LIST, key: 'steps' }),
    ];
    return copy(
      own,
      all.filter((one) => one !== undefined),
    );
  }
}

/** Changes the steps of a policy. */
class Extension {
  list: Placed[] = [];

  constructor(
    private readonly resolver: Resolver,
    items: readonly Node[],
  ) {
    for (const item of items) {
      const kind = stepEntry(item)?.key;
      const name = nameOf(item) || (kind ? unnamed(kind, this.list) : '');
      this.list.push({ item, name, changed: false });
    }
  }

  /** The index of the step of a name. One that is not there is reported at a node whose text or key is the name. */
  private find(n: Node, atKey: boolean, name: string): number {
    const { problems } = this.resolver;
    const i = this.list.findIndex((placed) => placed.name === name);
    if (i >= 0) return i;
    const known = this.list.map((placed) => placed.name).filter((one) => /^[^ ]+$/.test(one));
    const found = `the step ${quote(name)}, which is not there`;
    const allowed = `the name of a step${known.length ? `: ${orList(known)}` : ''}`;
    if (atKey) problems.failKey(n, found, allowed, nearest(name, known));
    else problems.fail(n, found, allowed, nearest(name, known));
    return -1;
  }

  /** Drops the steps of a name or of a list of them. */
  remove(n: Node): void {
    for (const item of n.kind === LIST && n.items.length ? n.items : [n]) {
      if (!isText(this.resolver.problems, item, 'the name of a step, or a list of them')) continue;
      const i = this.find(item, false, item.text);
      if (i >= 0) this.list.splice(i, 1);
    }
  }

  /** Calls a method with every step of a list. */
  each(n: Node | undefined, by: (this: Extension, item: Node) => void): void {
    if (!n) return;
    const { problems } = this.resolver;
    if (n.kind !== LIST || !n.items.length) {
      problems.mistyped(n, 'a list of steps, one or more');
      return;
    }
    problems.atMost(MAX_STEPS, n, 'steps');
    if (n.items.length <= MAX_STEPS) for (const item of n.items) by.call(this, item);
  }

  /** Puts the settings of a step in place of the settings of the step of its name. */
  change(item: Node): void {
    const { problems } = this.resolver;
    const own = stepEntry(item);
    if (!own) {
      findMechanism(problems, item);
      return;
    }
    const name = nameOf(item);
    const i = name ? this.find(nameIn(own) as Node, false, name) : this.find(own, true, own.key);
    const placed = this.list[i];
    const was = placed && stepEntry(placed.item);
    if (!placed || !was) return;
    if (was.key !== own.key) {
      const allowed = `${was.key}; remove and add replace a step`;
      problems.failKey(own, `${own.key} where the step is a ${was.key}`, allowed);
    } else if (placed.changed) {
      const found = `a second change of the step ${quote(name || own.key)}`;
      problems.failKey(own, found, 'one change of a step');
    } else {
      placed.changed = true;
      const merged = merge(was, own);
      placed.item = merged ? copy(item, [merged]) : item;
    }
  }

  /** Puts a step before or after another one, or behind all. */
  add(item: Node): void {
    const { problems } = this.resolver;
    const [position, second] = ['before', 'after'].flatMap((name) => entryOf(item, name) ?? []);
    if (position && second) {
      problems.failKey(second, `${second.key} beside ${position.key}`, 'before or after');
      return;
    }
    let at = this.list.length;
    let step = item;
    if (position) {
      if (!isText(problems, position, 'the name of a step')) return;
      at = this.find(position, false, position.text);
      if (at < 0) return;
      if (position.key === 'after') at++;
      step = copy(
        item,
        item.items.filter((one) => one !== position),
      );
    }
    const own = stepEntry(step);
    if (!own) {
      findMechanism(problems, step);
      return;
    }
    let name = nameOf(step);
    for (let count = 1; !name; count++) {
      const next = numbered(own.key, count);
      if (this.list.every((placed) => placed.name !== next)) name = next;
    }
    this.list.splice(at, 0, { item: this.resolver.step(step), name, changed: false });
  }
}
