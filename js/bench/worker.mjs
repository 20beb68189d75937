// Measures one contender in a process of its own and prints its figure as JSON:
// node --expose-gc worker.mjs CASE CONTENDER '{"milliseconds":300,"small":false}'

import { find } from './cases/index.mjs';
import { measure } from './measure.mjs';

const [, , name, contender, options] = process.argv;
const what = find(name, contender);
try {
  const figure = what.loop
    ? await measure(what, JSON.parse(options))
    : { median: await what.make(JSON.parse(options)) };
  // Timers of a peer may be left that would hold the process.
  process.stdout.write(JSON.stringify(figure), () => process.exit());
} catch (error) {
  process.stderr.write(error.stack.split('\n', 4).join('\n'), () => process.exit(1));
}
