import { prefixOf } from '../base/prefixes.js';
import { quote } from './bytes.js';
import { type Fields, fieldsOf } from './fields.js';
import { NAME_TEXT, validName } from './names.js';
import { LIST, MAP, Node, TEXT } from './node.js';
import { attribute, PLAIN } from './per.js';
import type { Problems } from './problems.js';
import { asShare, isText } from './quantities.js';
import type { Case, Condition, Entry, Share, Step } from './result.js';
import type { Reader, Settings } from './settings.js';

const ATTRIBUTE_TEXT = 'key, ip, header:NAME, cookie:NAME, query:NAME, host, method, path or route';
const CONDITION_TEXT = 'a map of attributes and their values, or a list of such maps';
const VALUE_TEXT = 'a text, or a list of texts';
const PREFIX_TEXT = 'an address or a prefix as in 10.0.0.0/8 or 2001:db8::/32';
const ENTRY_TEXT = `${ATTRIBUTE_TEXT}, or not`;
/** The name, beside attributes, of the map of those that must not match. */
const NOT = 'not';
/** The most cases, entries of a case, and values of an entry. */
const MAX_CASES = 16;
const MAX_ENTRIES = 16;
const MAX_VALUES = 1000;

/** Reads a map of attributes and their values, or a list of such maps, of which one must match. */
export function readCondition(problems: Problems, n: Node): Condition {
  const list = n.kind === LIST && n.items.length > 0;
  if (list && n.items.length > MAX_CASES)
    problems.fail(n, `a list of ${n.items.length}`, `at most ${MAX_CASES}`);
  return (list ? n.items : [n]).flatMap((item) => {
    if (item.kind === MAP && item.items.length) return [readCase(problems, item)];
    problems.mistyped(item, CONDITION_TEXT);
    return [];
  });
}

function readCase(problems: Problems, item: Node): Case {
  const all = entries(problems, item, ENTRY_TEXT);
  const not = item.items.find(({ key }) => key === NOT);
  let none: readonly Entry[] = [];
  if (not?.kind === MAP && not.items.length) none = entries(problems, not, ATTRIBUTE_TEXT);
  else if (not) problems.mistyped(not, 'a map of attributes and their values, none of which may match');
  const count = all.length + none.length;
  if (count > MAX_ENTRIES) problems.fail(item, `${count} attributes`, `at most ${MAX_ENTRIES}`);
  return { all, none };
}

/** Entries in the order of their attributes, in which equal conditions are equal. */
const sorted = (list: readonly Entry[]): Entry[] =>
  [...list].sort((a, b) => (a.attribute < b.attribute ? -1 : a.attribute > b.attribute ? 1 : 0));

/** Reads the attributes of a map, without its `not` where that is allowed. */
function entries(problems: Problems, n: Node, allowed: string): Entry[] {
  const first = new Map<string, Node>();
  const list = n.items.flatMap((entry) => {
    const other = first.get(entry.key);
    if (other) {
      problems.double(entry, other);
      return [];
    }
    first.set(entry.key, entry);
    if (allowed === ENTRY_TEXT && entry.key === NOT) return [];
    const key = Object.assign(new Node(entry.up), entry, { kind: TEXT, text: entry.key, at: entry.keyAt });
    const [name, whole] = attribute(problems, key, PLAIN, allowed);
    return whole ? [{ attribute: name, values: valuesOf(problems, entry, name) }] : [];
  });
  return sorted(list);
}

/** Reads the values of an attribute: a text or a list of them. */
function valuesOf(problems: Problems, n: Node, name: string): string[] {
  const { length } = n.items;
  if (n.kind === LIST && !length) problems.mistyped(n, VALUE_TEXT);
  else if (n.kind === LIST && length > MAX_VALUES)
    problems.fail(n, `a list of ${length}`, `at most ${MAX_VALUES}`);
  const values: string[] = [];
  for (const item of n.kind === LIST ? n.items : [n]) {
    if (!isText(problems, item, VALUE_TEXT)) continue;
    const { text } = item;
    if (name === 'ip' && text && !prefixOf(text)) problems.mistyped(item, PREFIX_TEXT);
    if (values.length <= MAX_VALUES && values.includes(text)) {
      problems.fail(item, `${quote(text)} again`, 'each value once');
    }
    values.push(text);
  }
  return values;
}

/** Reads which calls a step applies to, and which it enforces for. */
export function readConditions(fields: Fields, step: Step): void {
  const { problems } = fields;
  const when = fields.get('when');
  if (when) step.when = readCondition(problems, when);
  const enforce = fields.get('enforce');
  if (!enforce) return;
  step.enforce = readShare(problems, enforce);
  if (step.shadow) problems.failKey(enforce, 'enforce beside shadow', 'shadow or enforce');
}

function readShare(problems: Problems, n: Node): Share {
  if (n.kind !== MAP) return { of: asShare(problems, n) ?? 0, by: '' };
  const fields = fieldsOf(problems, n, '', ['share', 'by']) as Fields;
  const share = fields.need('share', 'a share as in 10%');
  const by = fields.get('by');
  return {
    of: (share && asShare(problems, share)) ?? 0,
    by: by ? attribute(problems, by, PLAIN, ATTRIBUTE_TEXT)[0] : '',
  };
}

/** What the attribute of classes may be: the classes are no addresses. */
const CLASS_ATTRIBUTES = PLAIN.filter((name) => name !== 'ip');
const CLASS_TEXT = ATTRIBUTE_TEXT.replace('ip, ', '');

/** The attribute whose values are the classes of a limit. */
export const classAttribute: Reader = (s, n) => {
  const [text, whole] = attribute(s.problems, n, CLASS_ATTRIBUTES, CLASS_TEXT);
  s.classes.by = text;
  return whole ? [] : undefined;
};

/** The rates of classes, which are checked with the settings that they share. */
export const classRates: Reader = (s, n) => {
  const { problems } = s;
  if (n.kind !== MAP || !n.items.length) {
    problems.mistyped(n, 'a map of classes and their rates, as in {free: 10/m}');
    return undefined;
  }
  const first = new Map<string, Node>();
  for (const entry of n.items) {
    const other = first.get(entry.key);
    if (other) {
      problems.double(entry, other);
      continue;
    }
    first.set(entry.key, entry);
    if (!validName(entry.key)) {
      problems.failKey(entry, `the class ${quote(entry.key)}`, NAME_TEXT.replace('name', 'class'));
    }
  }
  s.classes.rates = n;
  return [];
};

/** The condition with more entries in every one of its cases. */
const and = (condition: Condition, all: readonly Entry[], none: readonly Entry[]): Condition =>
  condition.length
    ? condition.map((one) => ({ all: sorted([...one.all, ...all]), none: sorted([...one.none, ...none]) }))
    : [{ all, none }];

/**
 * A step for each class of a limit: its settings with the rate of the class, for calls of the class alone. The step itself
 * is then for the calls of no class.
 */
export function classSteps(settings: Settings, base: Step, most: number): Step[] {
  const { by, rates } = settings.classes;
  if (!by || !rates) return [];
  const { problems } = settings;
  const when = settings.fields?.get('when');
  if (
    when &&
    base.when.some(({ all, none }) => [...all, ...none].some(({ attribute }) => attribute === by))
  ) {
    problems.failKey(when, 'when of the attribute of class', 'when of other attributes');
  }
  const names: string[] = [];
  const steps = rates.items.slice(0, most).map((entry) => {
    const mark = problems.mark;
    const own = settings.withEntry('rate', entry);
    problems.dropTwins(mark);
    names.push(entry.key);
    return {
      ...base,
      name: `${base.name}-${entry.key}`,
      className: entry.key,
      values: own.all(),
      dated: own.dated(),
      when: and(base.when, [{ attribute: by, values: [entry.key] }], []),
    };
  });
  base.when = and(base.when, [], [{ attribute: by, values: names }]);
  return steps;
}
