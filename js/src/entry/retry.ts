// Nothing but retries, over a module that has nothing else.

import bytes from 'inline:retry';
import { compileOne } from '../compile-one.js';
import { use, x } from '../engine.js';
import { instancesOf } from '../instances.js';

use(
  instancesOf(new WebAssembly.Module(bytes)),
  compileOne(() => x.retry()),
);

export type { Backoff, Jitter } from '../backoff.js';
export { systemClock } from '../clock.js';
export type { Listener } from '../emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../errors.js';
export { retry } from '../lone-retry.js';
export type { Retry, RetryOptions } from '../retry-options.js';
export type { Snapshot } from '../snapshot.js';
export type * from '../types.js';
