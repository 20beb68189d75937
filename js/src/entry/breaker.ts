// Nothing but circuit breakers, over a module that has nothing else.

import bytes from 'inline:breaker';
import { compileOne } from '../engine/compile-one.js';
import { use, x } from '../engine/engine.js';
import { instancesOf } from '../engine/instances.js';

use(
  instancesOf(new WebAssembly.Module(bytes)),
  compileOne((size) => x.breaker(size)),
);

export { systemClock } from '../base/clock.js';
export type { Listener } from '../base/emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../base/errors.js';
export type { Snapshot } from '../base/snapshot.js';
export type * from '../base/types.js';
export type { Backoff, Jitter } from '../base/values.js';
export {
  type BreakerPass,
  type CircuitBreaker,
  type CircuitBreakerOptions,
  circuitBreaker,
} from '../cells/breaker.js';
export { limitMemory, type MemoryUsage, memoryUsage } from '../engine/engine.js';
