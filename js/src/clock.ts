import type { Clock } from './types.js';

/**
 * The monotonic clock of the runtime. In Node its timers keep the process alive
 * exactly while a caller waits.
 */
export function systemClock(): Clock {
  return {
    now: () => performance.now(),
    setTimeout: (callback, milliseconds): unknown => setTimeout(callback, milliseconds),
    clearTimeout: (timer) => clearTimeout(timer as number),
  };
}

/** The clock of all objects that name no other. */
export const defaultClock: Clock = systemClock();
