// Nothing but rate limiters, over a module that has nothing else.

import bytes from 'inline:limiter';
import { compileOne } from '../compile-one.js';
import { use, x } from '../engine.js';
import { instancesOf } from '../instances.js';
import { limitNumbers } from '../limit-numbers.js';

use(
  instancesOf(new WebAssembly.Module(bytes)),
  compileOne(() => x.limiter(), limitNumbers),
);

export type { Backoff } from '../backoff.js';
export { systemClock } from '../clock.js';
export type { Listener } from '../emitter.js';
export { type InstanceOption, limitMemory, type MemoryUsage, memoryUsage } from '../engine.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../errors.js';
export type { KeyCounts, KeyedOptions, KeyedRateLimiter, KeyedRateLimiterOptions } from '../keyed.js';
export type { BlockOptions, BlockTime, RateLimiter, RateLimiterOptions, WarmUpOptions } from '../limiter.js';
export { type RateLimiterFactory, rateLimiter } from '../rate-limiter.js';
export type { Snapshot } from '../snapshot.js';
export type * from '../types.js';
