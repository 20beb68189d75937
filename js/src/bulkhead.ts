// Declared for users who compile without it.
/// <reference lib="esnext.disposable" preserve="true" />

import { ACTION_PEEK, ACTION_RELEASE, ACTION_RENEW, SLOT_FREE } from './abi.js';
import { Cell, type Waiter } from './cell.js';
import { words } from './engine.js';
import { Held } from './held.js';
import { bulkheadAlone } from './reader/alone.js';
import { share } from './shared.js';
import type { BulkheadCounts } from './step.js';
import type { CallOptions, CommonOptions, Duration } from './types.js';

/** Settings of a bulkhead. */
export interface BulkheadOptions extends CommonOptions {
  /** How many may run at once. Required. */
  concurrent: number;
  /** The most callers that wait. Default 0; 100 beside a `wait`. */
  queue?: number | undefined;
  /** The longest that a caller waits. Default: until the caller cancels; `0s` for no waiting. */
  wait?: Duration | undefined;
  /** Who is served next, beside a queue. Default `oldest`. */
  order?: 'oldest' | 'newest' | undefined;
  /** Frees the place of a holder that neither released nor renewed it for so long. Default: none. */
  lease?: Duration | undefined;
}

/** A place in a bulkhead. */
export class Permit {
  readonly ok = true;

  /** @internal */
  constructor(
    private readonly owner: Bulkhead,
    private permit: Held | undefined,
    private waits?: Waiter<Permit>,
  ) {}

  // Bound functions, created on first use.
  /** Releases the place. Only the first call counts. */
  get release(): () => void {
    return () => {
      const { owner, waits } = this;
      const permit = this.permit ?? waits?.granted;
      this.permit = this.waits = undefined;
      if (permit) owner.perform(ACTION_RELEASE, 0, 1, permit);
      else if (waits) owner.leave(waits);
    };
  }

  /** Restarts the lease. */
  get renew(): () => void {
    return () => {
      if (this.permit) this.owner.perform(ACTION_RENEW, 0, 1, this.permit);
    };
  }
}

/** A permit for `using`, where the runtime has it. */
export interface Permit extends Disposable {}

// Not a method of the class: runtimes without `using` have no such symbol.
if (Symbol.dispose) {
  Permit.prototype[Symbol.dispose] = function (): void {
    this.release();
  };
}

/** Bounds how many calls run at once. Make one with `bulkhead`. */
export class Bulkhead extends Cell<Permit, CallOptions> {
  private readonly places: number;

  /** @internal */
  constructor(options: BulkheadOptions | number) {
    super(share(bulkheadAlone, options), true);
    this.places = typeof options === 'number' ? options : options.concurrent;
  }

  /** How many callers have a place and how many wait for one, and the free places. */
  get counts(): BulkheadCounts {
    this.perform(ACTION_PEEK);
    const free = words()[SLOT_FREE] as number;
    return { running: this.places - free, queued: this.inQueue(), free };
  }

  protected override admitted(words?: Int32Array, at?: number, waiter?: Waiter<Permit>): Permit {
    return new Permit(this, words && new Held(words, at), waiter);
  }

  protected override shown(): [string, object] {
    return ['Bulkhead', { name: this.common.name, ...this.counts }];
  }

  protected override refund(granted: Held): void {
    this.perform(ACTION_RELEASE, 0, 1, granted);
  }

  protected override settle(permit: Permit): void {
    permit.release();
  }
}
