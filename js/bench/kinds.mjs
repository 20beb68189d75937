// The kinds of things that are measured. A contender is made ready by `make`,
// which alone imports what it measures and which gets `{ small }`, whether this
// is the check. `right` says whether a result is what the case is about: one that
// is not ends the run.

/** What the work that is guarded returns. */
export const WORTH = 42;

/** The work that is guarded. */
export const work = async () => WORTH;

/** What work that fails throws. It is made once: a stack costs 2 us. */
export const failure = new Error('the work failed');

/** Work that fails. */
export const failing = async () => {
  throw failure;
};

const isTrue = (value) => value === true;
const isWorth = (value) => value === WORTH;
const isError = (error) => error instanceof Error;

/** A function that is called. */
export const called = (make, right = isTrue) => ({ unit: 'ns', loop: 'calling', make, right });

/** A function whose promise is awaited. `per` is how many operations one call does. */
export const awaited = (make, right = isWorth, per = () => 1) => ({
  unit: 'ns',
  loop: 'awaiting',
  make,
  right,
  per,
});

/** A function whose promise is to reject. */
export const rejecting = (make, right = isError) => ({ unit: 'ns', loop: 'catching', make, right });

/** A function that is run once in a process, `often` times as many of them, and returns its figure. */
export const once = (unit, often, make) => ({ unit, often, make });

/** A goal of so many units at most, above the figure of a peer of the case where one is named. */
export const atMost = (plus, above) => ({ times: 1, plus, above });

/** A goal of so many times the figure of a peer of the case. */
export const atMostTimes = (times, above) => ({ times, plus: 0, above });

/** The clock that ours reads, as a peer. */
export const CLOCK = {
  'performance.now alone': called(() => () => performance.now(), Number.isFinite),
};

/** A goal of no more than the figure of a peer of the case. */
export const notAbove = (above) => atMostTimes(1, above);
