// Nothing but circuit breakers, over a module that has nothing else.

import bytes from 'inline:breaker';
import { compileOne } from '../engine/compile-one.js';
import { use, x } from '../engine/engine.js';
import { instancesOf } from '../engine/instances.js';
import { numbersOf } from '../reader/backoff.js';
import { CONSECUTIVE, MORE, TIME } from '../reader/checks/breaker.js';

/**
 * The window has two numbers behind its kind, and the backoff comes behind probes, successes and the longest half-open. The
 * last are the newer settings.
 */
function ordered([kind = 0, ...numbers]: readonly number[]): readonly number[] {
  const forget = kind === (CONSECUTIVE | MORE) ? numbers.splice(1, 1) : [0];
  const window = (kind & ~MORE) === TIME ? numbers.splice(0, 2).reverse() : [...numbers.splice(0, 1), 0];
  const newer = kind & MORE ? [...numbers.splice(4, 1), ...numbers.splice(-4), ...forget] : [];
  const open = numbers.splice(4, numbers.length - 7);
  return [kind, ...window, ...numbers, ...numbersOf(open), ...newer];
}

use(
  instancesOf(new WebAssembly.Module(bytes)),
  compileOne(() => x.breaker(), ordered),
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
