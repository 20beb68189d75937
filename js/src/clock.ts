import type { Clock } from './types.js';

// In Node the global is an accessor, which costs a quarter of what reading the time costs. Fake timers replace both.
const { performance: monotonic, setTimeout: timer } = globalThis;

/**
 * The monotonic clock of the runtime. In Node its timers keep the process alive
 * exactly while a caller waits.
 */
export function systemClock(): Clock {
  return {
    now: () => (setTimeout === timer ? monotonic.now() : performance.now()),
    setTimeout: (callback, milliseconds): unknown => setTimeout(callback, milliseconds),
    clearTimeout: (timer) => clearTimeout(timer as number),
  };
}

/** The wall time of a clock in milliseconds since 1970: that of the runtime, where it has none of its own. */
export const wallOf = (clock: Clock): number => (clock.wall ? clock.wall() : Date.now());

/** The clock of all objects that name no other. */
export const defaultClock: Clock = systemClock();
