import { defaultClock } from './clock.js';
import type { Clock } from './types.js';

/** The time of an event that never comes. */
export const NEVER = Infinity;

/** An object that is woken at a time. */
export interface Wake {
  /** When, in milliseconds of the clock; `NEVER` at first. Set by `Wakes`. */
  due: number;
  /** The place in the heap, -1 for none. Set by `Wakes`. */
  place: number;
  /** How many callers wait for it, which `hold` counts. */
  waits: number;
  /** The time has come. It may set itself again. */
  wake(): void;
}

/** A waiter, where timers end with the request that set them. */
export interface Guest {
  /** Runs a function in the caller's own request, soon. */
  post(f: () => void): void;
  /** Runs what was posted, now: it is called in that request. */
  drain(): void;
  /** The caller no longer waits. */
  leave(): void;
}

/** Manages the waiters there. */
export interface Guests {
  /** A caller of this request waits for a wake. */
  greet(wakes: Wakes, wake: Wake): Guest;
  /** The time of a wake was set. */
  moved(wake: Wake): void;
}

/** Undefined where one timer serves all requests. */
export let guests: Guests | undefined;

/** Gives each waiter a timer of its own. */
export function useGuests(by: Guests): void {
  guests = by;
}

/** The longest time that a timer of JavaScript can have. */
const LONGEST = 2 ** 31 - 1;

/** How long a timer that is set for now may take, in milliseconds. */
const LATE = 1000;

/**
 * All wakes of a clock, in a binary heap behind one timer. The timer is set again only
 * for an earlier wake; otherwise it fires and finds nothing due: a wake that is set and
 * cleared in every call costs no timer. The timer keeps the process alive exactly while
 * a caller waits for one of the wakes.
 */
export class Wakes {
  private readonly heap: Wake[] = [];
  private armed = NEVER;
  /** When the timer has fired, unless the runtime dropped it. */
  private trusted = NEVER;
  private timer: unknown;
  /** How many wakes are set that a caller waits for. */
  private holders = 0;
  /** The timer keeps the process alive. */
  private kept = true;
  /** Whether it has to is checked soon. */
  private checks = false;

  /** `soon` calls back with the next turn of the loop; with it a timer for which no caller waits may hold the process so long. */
  constructor(
    private readonly clock: Clock,
    private readonly soon?: (callback: () => void) => unknown,
  ) {}

  /** Sets the time of a wake. `now` is the present time, where it is known. */
  set(wake: Wake, due: number, now?: number): void {
    if (due === wake.due) return;
    const { heap } = this;
    const { place } = wake;
    wake.due = due;
    if (wake.waits && place < 0 !== (due === NEVER)) this.count(due === NEVER ? -1 : 1);
    if (due === NEVER) {
      const last = heap.pop() as Wake;
      wake.place = -1;
      if (last === wake) return;
      last.place = place;
      this.sift(last);
      return;
    }
    if (place < 0) wake.place = heap.length;
    this.sift(wake);
    if (guests) guests.moved(wake);
    else if (due < this.armed || this.trusted < (now ?? this.clock.now())) this.arm();
  }

  /** A caller begins to wait for a wake (1), or no longer waits (-1). */
  hold(wake: Wake, by: number): void {
    const before = wake.waits;
    wake.waits += by;
    if (wake.place >= 0 && !before !== !wake.waits) this.count(by);
  }

  private count(by: number): void {
    const before = this.holders;
    this.holders += by;
    if (!before !== !this.holders) this.keep();
  }

  /** Lets the timer keep the process alive or not, where the runtime can. */
  private keep(): void {
    const timer = this.timer as { ref?(): void; unref?(): void } | undefined;
    if (this.holders) {
      if (!this.kept) timer?.ref?.();
      this.kept = true;
    } else if (!this.soon) {
      timer?.unref?.();
      this.kept = false;
    } else if (!this.checks) {
      // Calls follow each other: changing the timer for each takes as long as a decision.
      this.checks = true;
      const { soon } = this;
      soon(this.check);
    }
  }

  private readonly check = (): void => {
    this.checks = false;
    if (this.holders) return;
    (this.timer as { unref?(): void } | undefined)?.unref?.();
    this.kept = false;
  };

  private arm(): void {
    this.clear(this.timer);
    const { due } = this.heap[0] as Wake;
    const now = this.clock.now();
    this.armed = due;
    // A late timer is not postponed by wakes that are set before it fires.
    this.trusted = due > now ? due : now + LATE;
    this.timer = this.later(this.fire, due);
    this.kept = true;
    if (!this.holders) this.keep();
  }

  /** Calls back at a time, or before it where it is far. */
  later(callback: () => void, due: number): unknown {
    const { clock } = this;
    return clock.setTimeout(callback, Math.min(Math.max(Math.ceil(due - clock.now()), 0), LONGEST));
  }

  /** Forgets a callback. */
  clear(timer: unknown): void {
    if (timer !== undefined) this.clock.clearTimeout(timer);
  }

  /** Wakes all that is due. */
  readonly fire = (): void => {
    this.timer = undefined;
    this.armed = this.trusted = NEVER;
    const now = this.clock.now();
    for (let first = this.heap[0]; first && first.due <= now; first = this.heap[0]) {
      this.set(first, NEVER);
      first.wake();
    }
    if (!guests && this.heap.length && this.timer === undefined) this.arm();
  };

  private put(wake: Wake, place: number): void {
    this.heap[place] = wake;
    wake.place = place;
  }

  /** Moves a wake up or down to where it belongs. */
  private sift(wake: Wake): void {
    const { heap } = this;
    let { place } = wake;
    // Reading past the ends of an array is slow.
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent] as Wake;
      if (above.due <= wake.due) break;
      this.put(above, place);
      place = parent;
    }
    for (let child = 2 * place + 1; child < heap.length; child = 2 * place + 1) {
      if (child + 1 < heap.length && (heap[child + 1] as Wake).due < (heap[child] as Wake).due) child++;
      const below = heap[child] as Wake;
      if (below.due >= wake.due) break;
      this.put(below, place);
      place = child;
    }
    this.put(wake, place);
  }
}

const all = new WeakMap<Clock, Wakes>();

/** The wakes of a clock: one object for each clock. */
export function wakesOf(clock: Clock): Wakes {
  let wakes = all.get(clock);
  if (!wakes) {
    const { setImmediate: soon } = globalThis as { setImmediate?: (callback: () => void) => unknown };
    wakes = new Wakes(clock, clock === defaultClock ? soon : undefined);
    all.set(clock, wakes);
  }
  return wakes;
}
