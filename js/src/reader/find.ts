// The mechanism of a step.

import { MECHANISMS } from '../generated/mechanisms.js';
import { quote } from './bytes.js';
import { unknownName } from './fields.js';
import { mechanismOf, USE } from './mechanisms.js';
import { orList } from './names.js';
import { MAP, type Node, TEXT } from './node.js';
import type { Problems } from './problems.js';
import type { Mechanism } from './settings.js';

/** The most steps of a policy. */
export const MAX_STEPS = 16;
/** Mechanisms that other versions may have. */
const LATER = ['shed', 'queue', 'cache', 'throttle'];

/** The entry of a step, undefined for a node that is none. */
export function stepEntry(item: Node): Node | undefined {
  const [entry, second] = item.items;
  if (item.kind !== MAP || !entry || second) return undefined;
  return entry.key === USE || mechanismOf(entry.key) ? entry : undefined;
}

/** The mechanism of a map of one entry, mechanism to settings. */
export function findMechanism(problems: Problems, n: Node): Mechanism | undefined {
  const allowed = 'a step: a map of one entry, mechanism to settings';
  const { length } = n.items;
  if (n.kind === MAP && length > 1) {
    problems.fail(
      n,
      `a map of ${length} entries`,
      `${allowed}; name, shadow, per and scope belong inside the settings`,
    );
    return undefined;
  }
  const [entry] = n.items;
  if (n.kind !== MAP || !entry) {
    const near = n.kind === TEXT && mechanismOf(n.text) ? `{${n.text}: {...}}` : '';
    problems.mistyped(n, allowed, near);
    return undefined;
  }
  const mechanism = mechanismOf(entry.key);
  if (mechanism) return mechanism;
  const names = [...Object.keys(MECHANISMS), ...(problems.shared.size ? [USE] : [])];
  if (LATER.includes(entry.key)) {
    const found = `the mechanism ${quote(entry.key)}, which this version does not have`;
    problems.failKey(entry, found, orList(names));
  } else {
    unknownName(problems, entry, names);
  }
  return undefined;
}
