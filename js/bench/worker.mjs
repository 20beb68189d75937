// Measures one contender in a process of its own and prints its figure as JSON:
// node --expose-gc worker.mjs CASE CONTENDER '{"milliseconds":300,"small":false}'

import { contendersOf, find, groups } from './cases/index.mjs';
import { measure, use } from './measure.mjs';

const [, , name, contender, json] = process.argv;
const options = JSON.parse(json);
const what = find(name, contender);

/** How long each contender is used before, where the process is not for one alone. */
const USED_MS = 10;

/** Uses all contenders, as a program that has many mechanisms does. */
async function mix() {
  for (const one of groups.flatMap(({ cases }) => cases)) {
    // A peer that takes milliseconds for each use says nothing about shapes of objects.
    for (const [peer, other] of Object.entries(contendersOf(one))) {
      if (other.loop && !/bottleneck|keys|async-retry|exponential-backoff/.test(peer + one.name)) await use(other, USED_MS);
    }
  }
}

try {
  if (options.mixed) await mix();
  const figure = what.loop
    ? await measure(what, options)
    : { median: await what.make(options) };
  // Timers of a peer may be left that would hold the process.
  process.stdout.write(JSON.stringify(figure), () => process.exit());
} catch (error) {
  process.stderr.write(error.stack.split('\n', 4).join('\n'), () => process.exit(1));
}
