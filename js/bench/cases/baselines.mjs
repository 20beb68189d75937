import { awaited, called, work } from '../kinds.mjs';

const one = (name, contender) => ({ name, peers: { [name]: contender } });

export default {
  title: 'Baselines',
  about:
    'What the runtime itself costs: the await is inside every row that awaits, the clock inside every decision.',
  cases: [
    one(
      'empty loop',
      called(() => () => true),
    ),
    one(
      'Date.now',
      called(() => () => Date.now(), Number.isFinite),
    ),
    one(
      'performance.now',
      called(() => () => performance.now(), Number.isFinite),
    ),
    one(
      'process.hrtime.bigint',
      called(
        () => () => process.hrtime.bigint(),
        (at) => at > 0n,
      ),
    ),
    one(
      'await of an async function',
      awaited(() => work),
    ),
    one(
      'setTimeout and clearTimeout',
      called(() => () => clearTimeout(setTimeout(work, 10_000)) === undefined),
    ),
    one(
      'AbortController with its signal',
      called(() => () => !new AbortController().signal.aborted),
    ),
  ],
};
