// Nothing but circuit breakers, over a module that has nothing else.

import bytes from 'inline:breaker';
import { use } from '../engine.js';
import { breaker } from '../reader/breaker.js';
import { compileBy } from '../reader/compile.js';

use(new WebAssembly.Instance(new WebAssembly.Module(bytes)), compileBy(breaker));

export type { Backoff, Jitter } from '../backoff.js';
export {
  type BreakerPass,
  type CircuitBreaker,
  type CircuitBreakerOptions,
  circuitBreaker,
} from '../breaker.js';
export { systemClock } from '../clock.js';
export type { Listener } from '../emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../errors.js';
export type { Snapshot } from '../snapshot.js';
export type * from '../types.js';
