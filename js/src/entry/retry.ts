// Nothing but retries, over a module that has nothing else.

import bytes from 'inline:retry';
import { compileOne } from '../engine/compile-one.js';
import { use, x } from '../engine/engine.js';
import { instancesOf } from '../engine/instances.js';
import { numbersOf } from '../reader/backoff.js';

use(
  instancesOf(new WebAssembly.Module(bytes)),
  // The longest time is before the refusals and the budget, which are 0 here.
  compileOne(
    () => x.retry(),
    ([attempts = 0, ...rest]) => [attempts, rest.at(-3) ?? 0, ...numbersOf(rest.slice(0, -3))],
  ),
);

export { systemClock } from '../base/clock.js';
export type { Listener } from '../base/emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../base/errors.js';
export type { Snapshot } from '../base/snapshot.js';
export type * from '../base/types.js';
export type { Backoff, Jitter } from '../base/values.js';
export { retry } from '../cells/lone-retry.js';
export type { Retry, RetryOptions } from '../pipeline/retry-options.js';
