import { awaited, WORTH, work } from '../kinds.mjs';

/** Work that looks at its signal, as one that can be stopped does. */
const stoppable = async ({ signal }) => (signal.aborted ? 0 : WORTH);

const ours = (task) =>
  awaited(async () => {
    const { timeout } = await import('@sluice/core');
    const limit = timeout('10s');
    return () => limit.execute(task);
  });

const cockatiel = (version, strategy, task) =>
  awaited(async () => {
    const { timeout, TimeoutStrategy } = await import(version);
    const limit = timeout(10_000, TimeoutStrategy[strategy]);
    return () => limit.execute(task);
  });

const compared = (name, task) => ({
  name,
  ours: { execute: { contender: ours(task) } },
  peers: {
    'cockatiel cooperative': cockatiel('cockatiel', 'Cooperative', task),
    'cockatiel aggressive': cockatiel('cockatiel', 'Aggressive', task),
    'cockatiel 4 aggressive': cockatiel('cockatiel-4', 'Aggressive', task),
  },
});

export default {
  title: 'Timeouts',
  about:
    'Of 10 s, around a function that is done at once. Ours cuts a function that ignores its signal, as aggressive ones do.',
  cases: [compared('timeout', work), compared('timeout, the signal is read', stoppable)],
};
