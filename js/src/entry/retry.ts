// Nothing but retries, over a module that has nothing else.

import bytes from 'inline:retry';
import { compileOne } from '../compile-one.js';
import { use, x } from '../engine.js';
import { instancesOf } from '../instances.js';
import { numbersOf } from '../reader/backoff.js';

use(
  instancesOf(new WebAssembly.Module(bytes)),
  // The longest time is before the refusals and the budget, which are 0 here.
  compileOne(
    () => x.retry(),
    ([attempts = 0, ...rest]) => [attempts, rest.at(-3) ?? 0, ...numbersOf(rest.slice(0, -3))],
  ),
);

export type { Backoff, Jitter } from '../backoff.js';
export { systemClock } from '../clock.js';
export type { Listener } from '../emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../errors.js';
export { retry } from '../lone-retry.js';
export type { Retry, RetryOptions } from '../retry-options.js';
export type { Snapshot } from '../snapshot.js';
export type * from '../types.js';
