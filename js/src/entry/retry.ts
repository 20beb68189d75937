// Nothing but retries, over a module that has nothing else.

import bytes from 'inline:retry';
import { use } from '../engine.js';
import { compileBy } from '../reader/compile.js';
import { retry as reading } from '../reader/retry.js';

use(new WebAssembly.Instance(new WebAssembly.Module(bytes)), compileBy(reading));

export type { Backoff, Jitter } from '../backoff.js';
export { systemClock } from '../clock.js';
export type { Listener } from '../emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../errors.js';
export { retry } from '../lone-retry.js';
export type { Retry, RetryOptions } from '../retry-options.js';
export type { Snapshot } from '../snapshot.js';
export type * from '../types.js';
