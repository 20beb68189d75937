import { defaultClock, hasSystemTimers } from './clock.js';
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
  /** Whether it was set and is not any more, until the next check. Set by `Wakes`. */
  unset: boolean;
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

// The timers of the runtime, unless fake timers are there when this module is loaded.
const { setTimeout: realSet, clearTimeout: realClear } = globalThis;

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
  /** By when each wake of the heap is looked at: its time, or an earlier one that it had before. */
  private readonly keys: number[] = [];
  /** Wakes that are no longer set and are in the heap until the next check. */
  private unset: Wake[] = [];
  private armed = NEVER;
  /** When the timer has fired, unless the runtime dropped it. */
  private trusted = NEVER;
  private timer: unknown;
  /** How many wakes are set that a caller waits for. */
  private holders = 0;
  /** The timer keeps the process alive. */
  private kept = true;
  /** A check follows. */
  private checks = false;

  /** Whose timer it is: a timer of fake timers is dropped with them. Undefined where the clock has timers of its own. */
  private setter: unknown;

  /** `soon` calls back with the next turn of the loop; with it a timer for which no caller waits may hold the process so long. */
  constructor(
    private readonly clock: Clock,
    private readonly soon?: (callback: () => void) => unknown,
  ) {}

  /** Sets the time of a wake. `now` is the present time, where it is known. */
  set(wake: Wake, due: number, now?: number): void {
    const before = wake.due;
    if (due === before) return;
    wake.due = due;
    const { place } = wake;
    if (due === NEVER) {
      if (wake.waits !== 0) this.release();
      if (!this.soon) this.remove(wake);
      else if (place >= 0 && !wake.unset) this.removeSoon(wake);
      return;
    }
    if (before === NEVER && wake.waits !== 0) this.retain();
    if (place < 0) this.add(wake);
    else if (due < (this.keys[place] as number)) this.sift(wake, due, place);
    if (guests) guests.moved(wake);
    else if (due < this.armed || this.replaced || this.trusted < (now ?? this.clock.now())) this.arm();
  }

  /** A caller begins to wait for a wake (1), or no longer waits (-1). */
  hold(wake: Wake, by: 1 | -1): void {
    wake.waits += by;
    if (wake.due === NEVER) return;
    if (by > 0 && wake.waits === 1) this.retain();
    if (by < 0 && wake.waits === 0) this.release();
  }

  /** A wake is set that a caller waits for. */
  private retain(): void {
    this.holders++;
    if (!this.kept) this.keep();
  }

  /** A wake for which a caller waited is not set any more, or no caller waits for it. */
  private release(): void {
    if (--this.holders === 0 && !this.checks) this.keep();
  }

  /** Lets the timer keep the process alive or not, where the runtime can. */
  private keep(): void {
    const timer = this.timer as { ref?(): void; unref?(): void } | undefined;
    if (this.holders) {
      timer?.ref?.();
      this.kept = true;
    } else if (!this.soon) {
      timer?.unref?.();
      this.kept = false;
    } else this.checkSoon();
  }

  /** Calls follow each other, and most wakes are set again before the next turn. */
  private removeSoon(wake: Wake): void {
    wake.unset = true;
    this.unset.push(wake);
    this.checkSoon();
  }

  /** Changing the heap and the timer for each call takes as long as a decision. */
  private checkSoon(): void {
    if (this.checks) return;
    this.checks = true;
    const { soon } = this;
    soon?.(this.check);
  }

  private readonly check = (): void => {
    this.checks = false;
    const { unset } = this;
    this.unset = [];
    for (const wake of unset) {
      wake.unset = false;
      if (wake.due === NEVER) this.remove(wake);
    }
    if (this.holders) return;
    (this.timer as { unref?(): void } | undefined)?.unref?.();
    this.kept = false;
  };

  /** Whether fake timers took the place of those by which its timer was set, or gave it back. */
  private get replaced(): boolean {
    return this.setter !== undefined && this.setter !== setTimeout;
  }

  private arm(): void {
    if (this.replaced) {
      // A clear of fake timers may break them when they are gone: only a real timer holds the process.
      if (this.setter === realSet) realClear(this.timer as number | undefined);
      // What was to follow soon may be gone with them.
      this.checks = false;
    } else this.clear(this.timer);
    if (hasSystemTimers(this.clock)) this.setter = setTimeout;
    const due = this.keys[0] as number;
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
    const { heap, keys } = this;
    while (heap.length && (keys[0] as number) <= now) {
      const first = heap[0] as Wake;
      this.remove(first);
      if (first.due <= now) {
        this.set(first, NEVER);
        first.wake();
      } else if (first.due !== NEVER) this.add(first);
    }
    if (!guests && heap.length && this.timer === undefined) this.arm();
  };

  private add(wake: Wake): void {
    const place = this.heap.length;
    this.heap.push(wake);
    this.keys.push(wake.due);
    this.sift(wake, wake.due, place);
  }

  private remove(wake: Wake): void {
    const { place } = wake;
    if (place < 0) return;
    wake.place = -1;
    const last = this.heap.pop() as Wake;
    const key = this.keys.pop() as number;
    if (last !== wake) this.sift(last, key, place);
  }

  private put(wake: Wake, key: number, place: number): void {
    this.heap[place] = wake;
    this.keys[place] = key;
    wake.place = place;
  }

  /** Puts a wake with a key at a place, or above or below it where it belongs. */
  private sift(wake: Wake, key: number, from: number): void {
    const { heap, keys } = this;
    let place = from;
    // Reading past the ends of an array is slow.
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = keys[parent] as number;
      if (above <= key) break;
      this.put(heap[parent] as Wake, above, place);
      place = parent;
    }
    for (let child = 2 * place + 1; child < heap.length; child = 2 * place + 1) {
      if (child + 1 < heap.length && (keys[child + 1] as number) < (keys[child] as number)) child++;
      const below = keys[child] as number;
      if (below >= key) break;
      this.put(heap[child] as Wake, below, place);
      place = child;
    }
    this.put(wake, key, place);
  }
}

const all = new WeakMap<Clock, Wakes>();

const runtime = globalThis as { setImmediate?: (callback: () => void) => unknown };
// Read for each call: fake timers that are there when this module is loaded may be gone later.
const soon = runtime.setImmediate && ((callback: () => void) => runtime.setImmediate?.(callback));

/** The wakes of a clock: one object for each clock. */
export function wakesOf(clock: Clock): Wakes {
  let wakes = all.get(clock);
  if (!wakes) {
    wakes = new Wakes(clock, clock === defaultClock ? soon : undefined);
    all.set(clock, wakes);
  }
  return wakes;
}
