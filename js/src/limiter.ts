import { ACTION_CANCEL, ACTION_PEEK, type ALGORITHMS, SLOT_FREE, VERDICT_ADMIT } from './abi.js';
import { Cell } from './cell.js';
import { words } from './engine.js';
import type { Held } from './held.js';
import type { Shared } from './shared.js';
import type { Admission, CommonOptions, CostOptions, Duration, Rate, Verdict } from './types.js';

/** Settings of a rate limiter. */
export interface RateLimiterOptions extends CommonOptions {
  /** How many permits in which time, as in `50/1m`. Required. */
  rate: Rate;
  /** How it counts. Default `token-bucket`. */
  algorithm?: (typeof ALGORITHMS)[number] | undefined;
  /** The most permits at one instant, of a token bucket. Default: the rate's count. */
  burst?: number | undefined;
  /** The longest that `acquire` waits for its turn. Default `0s`: it refuses at once. */
  wait?: Duration | undefined;
  /** The most callers that wait, beside a `wait`. Default 100. */
  queue?: number | undefined;
  /** Who is served next, beside a `wait`. Default `oldest`. */
  order?: 'oldest' | 'newest' | undefined;
}

/** The one admission of limiters: it has no other content. */
const ADMITTED: Admission = Object.freeze({ ok: true });

/** Bounds how many calls pass in a time. Make one with `rateLimiter`. */
export class RateLimiter extends Cell<Admission> {
  /** @internal */
  constructor(options: unknown, shared: Shared, key?: string) {
    // Callers may wait where a digit of `wait` is not 0.
    super(shared, /[1-9]/.test(String((options as RateLimiterOptions).wait)), key);
  }

  protected override get callNames(): readonly string[] {
    return this.key === undefined ? ['signal', 'cost'] : ['signal', 'cost', 'key'];
  }

  protected override admitted(): Admission {
    return ADMITTED;
  }

  protected override shown(): [string, object] {
    this.perform(ACTION_PEEK);
    return ['RateLimiter', { name: this.common.name, free: words()[SLOT_FREE] }];
  }

  protected override refund(granted: Held, cost: number): void {
    this.perform(ACTION_CANCEL, 0, cost, granted);
  }

  /** Returns what `tryAcquire` would return, and takes nothing. */
  peek(options?: CostOptions): Verdict {
    const verdict = this.perform(ACTION_PEEK, 0, this.costOf(options));
    return verdict === VERDICT_ADMIT ? ADMITTED : this.rejection();
  }
}
