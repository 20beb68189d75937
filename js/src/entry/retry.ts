// Nothing but retries, over a module that has nothing else.

import bytes from 'inline:retry';
import { compileOne } from '../engine/compile-one.js';
import { use, x } from '../engine/engine.js';
import { instancesOf } from '../engine/instances.js';

use(
  instancesOf(new WebAssembly.Module(bytes)),
  compileOne((size) => x.retry(size)),
);

export { systemClock } from '../base/clock.js';
export type { Listener } from '../base/emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../base/errors.js';
export type { Snapshot } from '../base/snapshot.js';
export type * from '../base/types.js';
export type { Backoff, Jitter } from '../base/values.js';
export { retry } from '../cells/lone-retry.js';
export type { Retry, RetryOptions } from '../pipeline/retry-options.js';
