import type { Clock } from '../base/types.js';

/** A clock that moves only by `advance`. */
export interface VirtualClock extends Clock {
  wall(): number;
  /**
   * Lets so many milliseconds pass: due timers fire in order, each at its own time, and
   * reactions to the promises that they settle run before time continues. A call during
   * another one adds to it.
   */
  advance(milliseconds: number): Promise<void>;
  /** How many timers are set. */
  readonly timers: number;
}

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

// All reactions to promises run before the next macrotask. Read here, so
// that the fake timers of a test framework do not stop it.
const macrotask =
  (globalThis as { setImmediate?: (f: () => void) => unknown }).setImmediate ?? globalThis.setTimeout;
const settled = (): Promise<void> => new Promise((resolve) => void macrotask(resolve));

/** A virtual clock, at 0 or the milliseconds given. Its wall time begins at 0, so that it counts what passes by `advance` alone. */
export function virtualClock(start = 0): VirtualClock {
  let now = start;
  const timers = new Set<Timer>();
  const next = (): Timer | undefined => {
    let first: Timer | undefined;
    for (const timer of timers) if (!first || timer.due < first.due) first = timer;
    return first;
  };
  const pass = async (milliseconds: number): Promise<void> => {
    const end = now + milliseconds;
    await settled();
    for (let timer = next(); timer && timer.due <= end; timer = next()) {
      timers.delete(timer);
      now = Math.max(now, timer.due);
      timer.callback();
      await settled();
    }
    now = Math.max(now, end);
  };
  let passed: Promise<unknown> = Promise.resolve();
  return {
    now: () => now,
    wall: () => now - start,
    setTimeout(callback, milliseconds) {
      const timer = { due: now + Math.max(0, milliseconds), callback };
      timers.add(timer);
      return timer;
    },
    clearTimeout: (timer) => void timers.delete(timer as Timer),
    get timers() {
      return timers.size;
    },
    advance(milliseconds) {
      const all = passed.then(() => pass(milliseconds));
      passed = all.catch(() => {});
      return all;
    },
  };
}
