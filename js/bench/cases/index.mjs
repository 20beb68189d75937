// A group is a table. A case is one thing that a caller wants: `ours` does it in
// one or more ways, each with the goal of the project where there is one, and
// `peers` do the same. A baseline has no `ours`.

import baselines from './baselines.mjs';
import breakers from './breakers.mjs';
import bulkheads from './bulkheads.mjs';
import cold from './cold.mjs';
import keyed from './keyed.mjs';
import limiters from './limiters.mjs';
import listeners from './listeners.mjs';
import memory from './memory.mjs';
import pipelines from './pipelines.mjs';
import retries from './retries.mjs';
import timeouts from './timeouts.mjs';
import translated from './translated.mjs';

/** All groups, in the order of the page. */
export const groups = [
  baselines,
  limiters,
  keyed,
  breakers,
  retries,
  bulkheads,
  timeouts,
  pipelines,
  listeners,
  translated,
  cold,
  memory,
];

/** The contenders of a case, by their names. */
export const contendersOf = ({ ours = {}, peers }) => ({
  ...Object.fromEntries(Object.entries(ours).map(([name, { contender }]) => [name, contender])),
  ...peers,
});

/** A contender of a case. */
export function find(name, contender) {
  const found = groups.flatMap(({ cases }) => cases).find((one) => one.name === name);
  return contendersOf(found)[contender];
}
