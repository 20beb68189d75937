import type { CallOptions, Clock } from '../base/types.js';
import { NEVER } from '../base/wakes.js';
import type { Running } from './attempt.js';

/** A call, as far as what it keeps depends on it. */
export interface Holder {
  readonly slot: number;
  readonly generation: number;
  readonly options: CallOptions | undefined;
}

/** What has the places that calls keep. */
export interface Owner {
  readonly clock: Clock;
  /** Returns the places of a call that has ended. */
  letGo(call: Holder): void;
}

/** What a call keeps beyond its end, while its value is read. */
export class Kept {
  /** How many places of bulkheads. */
  places = 0;
  /** When a timeout cuts it, in milliseconds of the clock. */
  cutAt = NEVER;
  /** The step of that timeout. */
  step = '';

  constructor(
    readonly owner: Owner,
    private readonly call: Holder,
    /** The attempt whose value it is. */
    readonly running: Running,
  ) {}

  /** The signal of the caller. */
  get signal(): AbortSignal | undefined {
    return this.call.options?.signal;
  }

  /** Keeps nothing. */
  forgo(): void {
    this.cutAt = NEVER;
    this.release();
  }

  /** Ends it. Further calls do nothing. */
  release(): void {
    const { places } = this;
    this.places = 0;
    if (places) this.owner.letGo(this.call);
  }
}
