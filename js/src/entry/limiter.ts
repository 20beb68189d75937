// Nothing but rate limiters, over a module that has nothing else.

import bytes from 'inline:limiter';
import { compileOne } from '../engine/compile-one.js';
import { use, x } from '../engine/engine.js';
import { instancesOf } from '../engine/instances.js';

use(
  instancesOf(new WebAssembly.Module(bytes)),
  compileOne((size) => x.limiter(size)),
);

export { systemClock } from '../base/clock.js';
export type { Listener } from '../base/emitter.js';
export { PolicyError, type PolicyErrorCode, type Problem, RejectedError } from '../base/errors.js';
export type { Snapshot } from '../base/snapshot.js';
export type * from '../base/types.js';
export type { Backoff, BlockTime } from '../base/values.js';
export type { KeyCounts, KeyedOptions, KeyedRateLimiter, KeyedRateLimiterOptions } from '../cells/keyed.js';
export type {
  RateLimiter,
  RateLimiterOptions,
} from '../cells/limiter.js';
export { type RateLimiterFactory, rateLimiter } from '../cells/rate-limiter.js';
export { limitMemory, type MemoryUsage, memoryUsage } from '../engine/engine.js';
export type { LimitBlock as BlockOptions, LimitWarmUp as WarmUpOptions } from '../generated/settings.js';
