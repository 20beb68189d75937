// Declared for users who compile without it.
/// <reference lib="esnext.disposable" preserve="true" />

import { checkTask } from '../base/checks.js';
import { inspectable } from '../base/observable.js';
import type { CommonOptions, CostOptions, Task } from '../base/types.js';
import { reshare, share } from '../engine/shared.js';
import {
  ACTION_PEEK,
  ACTION_RELEASE,
  ACTION_RENEW,
  NONE,
  SLOT_COUNT,
  SLOT_FREE,
  SLOT_WAKE_MILLIS,
  VERDICT_ADMIT,
} from '../generated/abi.js';
import type { BulkheadSettings } from '../generated/settings.js';
import { Running } from '../pipeline/attempt.js';
import type { BulkheadCounts } from '../pipeline/step.js';
import { bulkheadAlone } from '../reader/alone.js';
import { Cell } from './cell.js';
import { Held } from './held.js';
import type { Waiter } from './waiters.js';

/** Settings of a bulkhead: its calls name their costs. */
export interface BulkheadOptions extends CommonOptions, Omit<BulkheadSettings, 'cost'> {}

/** A place in a bulkhead, or as many as the call cost. */
export class Permit {
  readonly ok = true;

  /** @internal */
  constructor(
    private readonly owner: Bulkhead,
    private permit: Held | undefined,
    private waits?: Waiter<Permit>,
  ) {}

  // Bound functions, created on first use.
  /** Releases what the call took. Only the first call counts. */
  get release(): () => void {
    return () => {
      this.end();
    };
  }

  /** @internal */
  end(): void {
    const { owner, waits } = this;
    const permit = this.permit ?? waits?.granted;
    this.permit = this.waits = undefined;
    if (permit) owner.free(permit);
    else if (waits) owner.leave(waits);
  }

  /** @internal */
  shown(): [string, object] {
    return ['Permit', { ok: true, released: !(this.permit ?? this.waits) }];
  }

  /** Restarts the lease. */
  get renew(): () => void {
    return () => {
      if (this.permit) this.owner.perform(ACTION_RENEW, 0, 1, this.permit);
    };
  }
}

inspectable(Permit);

/** A permit for `using`, where the runtime has it. */
export interface Permit extends Disposable {}

// Not a method of the class: runtimes without `using` have no such symbol.
if (Symbol.dispose) {
  Permit.prototype[Symbol.dispose] = function (): void {
    this.release();
  };
}

/**
 * Bounds how many calls run at once. A call takes as many places as its `cost`, at least one. Make one with `bulkhead`.
 */
export class Bulkhead extends Cell<Permit, CostOptions> {
  private places!: number;
  /** Nothing ends by time alone: no step needs one. */
  private timeless!: boolean;

  /** @internal */
  constructor(options: BulkheadOptions | number) {
    super(share(bulkheadAlone, options), true);
    this.take(options);
  }

  private take(options: BulkheadOptions | number): void {
    this.places = typeof options === 'number' ? options : options.concurrent;
    const { wait, lease } = Object(options);
    this.timeless = wait === undefined && lease === undefined && this.timeless !== false;
  }

  /**
   * Replaces its settings: what is left out has its default. Who runs and who waits stays, as the `configure` of a policy
   * says; with more places, those that wait get them at once. Its name and clock stay. Throws `PolicyError`, and changes nothing, for wrong
   * settings.
   */
  configure(options: BulkheadOptions | number): void {
    reshare(this.common, bulkheadAlone, options);
    this.take(options);
    this.adoptOptions(true);
  }

  /** How many places are taken, how many callers wait for some, and how many are free. */
  get counts(): BulkheadCounts {
    this.perform(ACTION_PEEK);
    const free = this.engine.words()[SLOT_FREE] as number;
    return { running: this.places - free, queued: this.inQueue(), free };
  }

  protected override get callNames(): readonly string[] {
    return ['signal', 'cost'];
  }

  protected override now(): number {
    return this.timeless ? NONE : this.clock.now();
  }

  /** @internal */
  free(permit: Held): void {
    const { engine } = this;
    // After dispose() there is nothing that a permit holds.
    if (!this.common.handles.size) return;
    permit.put(engine.words());
    const verdict = engine.x.step(this.handle, ACTION_RELEASE, 0, 1, this.now());
    if (verdict < 0) engine.check(verdict);
    if (engine.words()[SLOT_COUNT] !== 0 || engine.floats()[SLOT_WAKE_MILLIS] !== this.due) this.react();
  }

  protected override async run<T>(
    task: Task<T>,
    options: CostOptions | undefined,
    asValue: boolean,
  ): Promise<unknown> {
    const { common, engine } = this;
    if (options !== undefined || common.emitter.heard) return super.run(task, options, asValue);
    checkTask(task);
    const caller = this.nextCaller();
    const now = this.now();
    const verdict = engine.x.acquire(this.handle, 1, caller, now);
    const words = engine.words();
    if (verdict !== VERDICT_ADMIT || words[SLOT_COUNT] !== 0) {
      const pass = this.entered(verdict, caller, 1, now);
      return this.runAdmitted(task, undefined, asValue, pass instanceof Promise ? await pass : pass);
    }
    common.wakes.set(this, engine.floats()[SLOT_WAKE_MILLIS] as number);
    const permit = new Permit(this, new Held(words));
    let value: T;
    try {
      value = await task(new Running(1, undefined, permit));
    } finally {
      permit.end();
    }
    return asValue ? { ok: true, value } : value;
  }

  protected override admitted(words?: Int32Array, at?: number, waiter?: Waiter<Permit>): Permit {
    return new Permit(this, words && new Held(words, at), waiter);
  }

  protected override shown(): [string, object] {
    return ['Bulkhead', { name: this.common.name, ...this.counts }];
  }

  protected override refund(granted: Held): void {
    this.free(granted);
  }

  protected override settle(permit: Permit): void {
    permit.end();
  }
}
