import type { Clock } from './types.js';

/**
 * The monotonic clock of the runtime. In Node its timers do not keep the process
 * alive, so that a limiter or a pipeline never delays an exit; a script that has
 * nothing else to do but wait takes one with `keepAlive`.
 */
export function systemClock(options?: { keepAlive?: boolean }): Clock {
  return {
    now: () => performance.now(),
    setTimeout(callback, milliseconds) {
      const timer: unknown = setTimeout(callback, milliseconds);
      if (!options?.keepAlive) (timer as { unref?: () => void }).unref?.();
      return timer;
    },
    clearTimeout: (timer) => clearTimeout(timer as number),
  };
}

/** The clock of all objects that name no other. */
export const defaultClock: Clock = systemClock();
