// Mechanisms that policies of a document share, and the steps that use them.

import { quote } from './bytes.js';
import { readConditions } from './conditions.js';
import { fieldsOf } from './fields.js';
import { findMechanism, stepEntry } from './find.js';
import { mechanismOf, READERS, USE } from './mechanisms.js';
import {
  NAME_TEXT,
  nearest,
  nearName,
  orList,
  RESERVED,
  RESERVED_FOUND,
  RESERVED_TEXT,
  validName,
} from './names.js';
import { MAP, type Node, TEXT } from './node.js';
import { readKeys } from './per.js';
import type { Problems } from './problems.js';
import { asBool, isText } from './quantities.js';
import { copy, mechanismSteps, settingsOf } from './resolve.js';
import type { Step } from './result.js';
import type { Mechanism } from './settings.js';
import { type ReadStep, readStep, type StepReaders, stepName } from './step.js';

/** The most mechanisms that policies of a document share. */
const MAX_MECHANISMS = 1000;
/** A mechanism has conditions, and no classes. */
const MORE: StepReaders = { conditions: readConditions, classes: () => [] };
/** The most names that an error lists. */
const MAX_LISTED = 8;

/** Reads the map of mechanisms that policies share, which take the defaults of the document. */
export function readMechanisms(problems: Problems, source: Node, defaults?: Node): void {
  const n = mechanismSteps(problems, source, MAX_MECHANISMS, defaults);
  if (n.kind !== MAP || !n.items.length) {
    problems.mistyped(n, 'a map of mechanisms by name, one or more');
    return;
  }
  problems.atMost(MAX_MECHANISMS, n, 'mechanisms');
  if (n.items.length > MAX_MECHANISMS) return;
  for (const entry of n.items) {
    const { key } = entry;
    const first = problems.shared.get(key);
    if (first) {
      problems.double(entry, first.entry);
      continue;
    }
    if (key === RESERVED) problems.failKey(entry, RESERVED_FOUND, RESERVED_TEXT);
    else if (!validName(key)) problems.failKey(entry, `the name ${quote(key)}`, NAME_TEXT, nearName(key));
    if (n !== source) problems.within = entry;
    problems.shared.set(key, { step: readMechanism(problems, entry), entry });
    problems.within = undefined;
  }
}

function readMechanism(problems: Problems, entry: Node): Step | undefined {
  const [own] = entry.items;
  if (own && isUse(entry)) {
    problems.failKey(own, 'use in a mechanism', 'a mechanism to its settings, without use');
    return undefined;
  }
  const mechanism = findMechanism(problems, entry);
  if (!mechanism || !own) return undefined;
  const { step } = readStep(problems, own, mechanism, READERS, readKeys, undefined, MORE);
  const name = own.kind === MAP && own.items.find((item) => item.key === 'name');
  if (name) {
    problems.failKey(name, 'name in a mechanism of several policies', 'name in the step that uses it');
  }
  for (const setting of ['class', 'rates']) {
    const given = own.items.find((item) => item.key === setting);
    if (own.kind === MAP && given && mechanism.row.settings.some((one) => one.name === setting)) {
      const found = `${setting} in a mechanism of several policies`;
      problems.failKey(given, found, `${setting} in a limit of one policy`);
    }
  }
  return { ...step, name: entry.key, shares: entry.key };
}

/** Whether a node is a step that uses a shared mechanism. */
const isUse = (item: Node): boolean => stepEntry(item)?.key === USE;

/** Reads the entry of a step that uses a shared mechanism: its settings, and what belongs to the place alone. */
export function readUse(problems: Problems, entry: Node): (ReadStep & { mechanism: Mechanism }) | undefined {
  const one = 'the name of a mechanism of this document';
  const fields =
    entry.kind === TEXT
      ? undefined
      : fieldsOf(problems, entry, `${one}, or a map of mechanism, name, shadow and description`, [
          'mechanism',
          'name',
          'shadow',
          'description',
        ]);
  const given = entry.kind === TEXT ? entry : fields?.need('mechanism', one);
  if (!given || !isText(problems, given, one)) return undefined;
  const shared = problems.shared.get(given.text);
  if (!shared) {
    unknownMechanism(problems, given);
    return undefined;
  }
  if (!shared.step) return undefined;
  const step = { ...shared.step };
  const name = fields?.get('name');
  if (name) step.name = stepName(problems, name) || step.name;
  const shadow = fields?.get('shadow');
  if (shadow) step.shadow = asBool(problems, shadow);
  if (step.shadow) step.enforce = { of: 0, by: '' };
  const description = fields?.get('description');
  if (description) isText(problems, description, 'a text');
  return { step, classes: [], mechanism: mechanismOf(step.mechanism) as Mechanism };
}

function unknownMechanism(problems: Problems, n: Node): void {
  const known = problems.full ? [] : [...problems.shared.keys()].filter((one) => /^[^ ]+$/.test(one));
  const list = known.length && known.length <= MAX_LISTED ? `: ${orList(known)}` : '';
  problems.fail(
    n,
    `the mechanism ${quote(n.text)}, which is not there`,
    `the name of a mechanism of this document${list}`,
    nearest(n.text, known),
  );
}

/** The steps of a policy without `use`: each as it would be written in a policy alone. */
export function withoutUses(problems: Problems, items: readonly Node[]): Node[] | undefined {
  if (!items.some(isUse)) return undefined;
  return items.map((item) => {
    const [use] = item.items;
    if (!use || !isUse(item)) return item;
    const place = settingsOf(use);
    const name = place?.items.find(({ key }) => key === 'mechanism')?.text ?? '';
    const shared = problems.shared.get(name);
    const [entry] = shared?.step ? shared.entry.items : [];
    const settings = entry && settingsOf(entry);
    if (!place || !settings) return item;
    return copy(item, [copy(settings, placed(place, settings, name))]);
  });
}

/** The settings of a mechanism with the settings of a place, which has a name. */
function placed(place: Node, settings: Node, name: string): Node[] {
  const own = place.items.filter(({ key }) => key !== 'mechanism');
  const rest = settings.items.filter(({ key }) => own.every((one) => one.key !== key));
  if (own.some(({ key }) => key === 'name')) return [...rest, ...own];
  const named = copy(place, [], { kind: TEXT, key: 'name', text: name });
  return [...rest, ...own, named];
}
