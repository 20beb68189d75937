import { MECHANISMS } from '../generated/mechanisms.js';
import { quote } from './bytes.js';
import { classSteps, readConditions } from './conditions.js';
import { findMechanism, MAX_STEPS, stepEntry } from './find.js';
import { READERS, USE } from './mechanisms.js';
import { LIST, type Node } from './node.js';
import { readKeys } from './per.js';
import type { Problems } from './problems.js';
import type { Step } from './result.js';
import type { Row } from './row.js';
import type { Mechanism } from './settings.js';
import { type ReadStep, readStep, type StepReaders } from './step.js';
import { readUse } from './uses.js';

const MORE: StepReaders = {
  conditions: readConditions,
  classes: (settings, step) => classSteps(settings, step, MAX_STEPS),
};

/** Reads the steps of a policy. Those without a name get their mechanism's, numbered from the second one of it on. */
export function readSteps(problems: Problems, n: Node): Step[] {
  if (n.kind !== LIST || !n.items.length) {
    problems.mistyped(n, 'a list of steps, one or more');
    return [];
  }
  problems.atMost(MAX_STEPS, n, 'steps');
  const steps: Step[] = [];
  /** Indexes of the steps of each mechanism, and of the first of each name. */
  const of = new Map<Mechanism, number[]>();
  const names = new Map<string, number>();
  /** How many steps of a mechanism share none, and the index of the step with the state of a shared one. */
  const own = new Map<Mechanism, number>();
  const used = new Map<string, number>();
  for (const [i, item] of n.items.entries()) {
    problems.item = item;
    const read = readItem(problems, item, own);
    if (!read) continue;
    const { step, classes, mechanism } = read;
    const entry = item.items[0] as Node;
    of.set(mechanism, [...(of.get(mechanism) ?? []), i]);
    checkOnce(problems, entry, mechanism, of);
    for (const one of [...classes, step]) {
      const first = names.get(one.name);
      const use = one.cells && one.shares ? used.get(one.shares) : undefined;
      if (use !== undefined) {
        problems.failKey(
          entry,
          `a second use of the mechanism ${quote(one.shares)}`,
          `one step of a policy with its state; the first is steps[${use}]`,
        );
      } else if (one.name && first !== undefined) {
        problems.failKey(
          entry,
          `a second step of the name ${quote(one.name)}`,
          `names that differ; the first is steps[${first}]`,
        );
      }
      if (steps.length < MAX_STEPS && one.name && first === undefined) names.set(one.name, i);
      if (steps.length < MAX_STEPS && use === undefined) used.set(one.shares, i);
      one.at = i;
      steps.push(one);
    }
    const rates = entry.items.find(({ key }) => key === 'rates');
    if (classes.length && rates && steps.length > MAX_STEPS && n.items.length <= MAX_STEPS) {
      problems.failKey(
        rates,
        `classes that make ${steps.length} steps of the policy`,
        `at most ${MAX_STEPS}, one for each class and one for the calls of no class`,
      );
      break;
    }
  }
  problems.item = undefined;
  return steps;
}

/** Reads a step and counts it where it shares no mechanism. */
function readItem(
  problems: Problems,
  item: Node,
  own: Map<Mechanism, number>,
): (ReadStep & { mechanism: Mechanism }) | undefined {
  const entry = stepEntry(item);
  if (entry?.key === USE) return readUse(problems, entry);
  const mechanism = findMechanism(problems, item);
  if (!mechanism) return undefined;
  const count = (own.get(mechanism) ?? 0) + 1;
  own.set(mechanism, count);
  const unnamed = mechanism.row.name + (count > 1 ? `-${count}` : '');
  const read = readStep(problems, item.items[0] as Node, mechanism, READERS, readKeys, unnamed, MORE);
  return { ...read, mechanism };
}

/** Reports a second step of a mechanism that may be there once, and a step below one that must not be above it. */
function checkOnce(
  problems: Problems,
  entry: Node,
  mechanism: Mechanism,
  of: ReadonlyMap<Mechanism, number[]>,
): void {
  const { row } = mechanism;
  const [first = 0, second] = of.get(mechanism) ?? [];
  if (row.once && second !== undefined) {
    problems.failKey(
      entry,
      `a second ${row.name}`,
      `one ${row.name} in a policy; the first is steps[${first}]`,
    );
    return;
  }
  for (const one of Object.values(MECHANISMS)) {
    const other: Row = one.row;
    const at = of.get(one)?.[0];
    if (at !== undefined && (other.below === row.name || (other.last && one !== mechanism))) {
      problems.failKey(
        entry,
        `a ${row.name} below the ${other.name}`,
        `a ${row.name} above the ${other.name}, which is steps[${at}]`,
      );
    }
  }
}
