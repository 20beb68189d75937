// Nothing but rate limiters, over a module that has nothing else.

import bytes from 'inline:limiter';
import { compileOne } from '../compile-one.js';
import { use, x } from '../engine.js';
import { instancesOf } from '../instances.js';
import { numbersOf } from '../reader/backoff.js';

/** What the order has where the numbers of a block, and of a warm-up, are behind it. */
const MORE = [0, 2, 4, 6];

/** What a limit of a policy has is left out: the cost, when it is taken, and for which outcomes. */
function ordered(numbers: readonly number[]): readonly number[] {
  const [algorithm, count, period, burst, wait, queue, order, , , words, bits = 0, ...rest] =
    numbers as number[];
  const settings = [algorithm, count, period, burst, wait, queue, order] as number[];
  if (!words) return settings;
  settings[6] = (order as number) + (MORE[bits] as number);
  const warm = bits & 2 ? rest.splice(-2) : [];
  const [after = 0, ...time] = rest;
  return [...settings, ...(bits & 1 ? [after, ...numbersOf([...time, 0, 0])] : []), ...warm];
}

use(
  instancesOf(new WebAssembly.Module(bytes)),
  compileOne(() => x.limiter(), ordered),
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
