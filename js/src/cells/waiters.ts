import type { Rejection } from '../base/types.js';
import type { Guest } from '../base/wakes.js';
import type { Held } from './held.js';

/** What a waiter waits at. */
interface Queue<P> {
  leave(waiter: Waiter<P>): void;
}

/** A waiter in the queue of a cell; in shadow mode a phantom, which has no caller. */
export class Waiter<P> {
  /** The permit that it was granted. */
  granted: Held | undefined;
  /** Where each request has a timer of its own. */
  guest: Guest | undefined;
  resolve: ((verdict: P | Rejection) => void) | undefined;
  reject: ((reason: unknown) => void) | undefined;
  /** It was cancelled; a permit that it is granted at the same mark must be returned. */
  left = false;

  /** `number` is what the module knows the caller by. */
  constructor(
    private readonly queue: Queue<P>,
    readonly number: number,
    readonly ticket: Held,
    readonly cost: number,
    readonly signal: AbortSignal | undefined,
  ) {
    signal?.addEventListener('abort', this);
  }

  /** The caller cancels. */
  handleEvent(): void {
    this.left = true;
    this.queue.leave(this);
    this.reject?.(this.signal?.reason);
  }
}

/** The waiters of a cell by their numbers. */
export class Waiters<P> {
  private readonly list: (Waiter<P> | undefined)[] = [];
  /** The numbers below the length of the list that no waiter has. */
  private readonly unused: number[] = [];

  /** The number that the next waiter has. */
  next(): number {
    return this.unused.at(-1) ?? this.list.length;
  }

  /** How many wait. */
  get size(): number {
    return this.list.length - this.unused.length;
  }

  get(number: number): Waiter<P> | undefined {
    return this.list[number];
  }

  /** Adds a waiter, whose number is the result of `next()`. */
  add(waiter: Waiter<P>): void {
    this.unused.pop();
    this.list[waiter.number] = waiter;
  }

  /** Removes a waiter. Returns false where it no longer waits. */
  remove(waiter: Waiter<P>): boolean {
    const { number, signal } = waiter;
    if (this.list[number] !== waiter) return false;
    signal?.removeEventListener('abort', waiter);
    waiter.guest?.leave();
    this.list[number] = undefined;
    this.unused.push(number);
    return true;
  }

  all(): Waiter<P>[] {
    return this.list.filter((waiter) => waiter !== undefined);
  }
}
