import { checkTask } from '../base/checks.js';
import type {
  CommonOptions,
  CostOptions,
  LimiterAdmission,
  LimitRate,
  Quota,
  Task,
  Verdict,
} from '../base/types.js';
import { reshare, type Shared } from '../engine/shared.js';
import {
  ACTION_CANCEL,
  ACTION_PEEK,
  ACTION_RESET,
  SLOT_FREE,
  SLOT_MILLIS,
  VERDICT_ADMIT,
} from '../generated/abi.js';
import type { LimitSettings } from '../generated/settings.js';
import { Running } from '../pipeline/attempt.js';
import { mostOf, rateOf } from '../pipeline/rates.js';
import type { Alone } from '../reader/alone.js';
import { Cell } from './cell.js';
import type { Held } from './held.js';

/** Settings of a rate limiter: the settings of a limit, without what belongs to the steps of a policy. */
export interface RateLimiterOptions
  extends CommonOptions,
    Omit<LimitSettings, 'class' | 'rates' | 'cost' | 'charge' | 'settle_max' | 'counts'> {}

/** What knows what a limit has left, or the limit of a key. */
interface Lender {
  quota(key: string): Quota;
}

/** What a limit has left is read when it is asked for: most callers do not. */
export class Allowed implements LimiterAdmission {
  readonly ok = true;
  // Private to the language: they are no part of the value.
  readonly #lender: Lender;
  readonly #key: string;

  constructor(lender: Lender, key = '') {
    this.#lender = lender;
    this.#key = key;
  }

  get remaining(): number {
    return this.#lender.quota(this.#key).remaining;
  }

  get reset(): number {
    return this.#lender.quota(this.#key).reset;
  }
}

// The name of the interface, which console.log shows.
Object.defineProperty(Allowed, 'name', { value: 'LimiterAdmission' });

/** Whether a digit of some settings is not 0. */
const some = (...settings: unknown[]): boolean => /[1-9]/.test(JSON.stringify(settings));

/** Whether callers may wait, or their refusals are counted. */
export function mayWait(options: unknown): boolean {
  const { wait, block } = options as RateLimiterOptions;
  return some(wait, block);
}

/** Whether refusals begin blocks. */
export const mayBlock = (options: unknown): boolean => some((options as RateLimiterOptions).block);

/** Bounds how many calls pass in a time. Make one with `rateLimiter`. */
export class RateLimiter extends Cell<LimiterAdmission> {
  /** @internal */
  constructor(
    private options: unknown,
    shared: Shared,
    key?: string,
    handle?: number,
    /** How its options are read, where it is no limiter of a key. */
    private readonly alone?: Alone,
  ) {
    super(shared, mayWait(options), key, handle);
  }

  // Without options, a queue and listeners a decision is one call of the module.
  override tryAcquire(options?: CostOptions): Verdict {
    if (options !== undefined || this.queued || this.common.emitter.heard) return super.tryAcquire(options);
    const now = this.clock.now();
    const { barred } = this;
    if (barred !== undefined && now < barred) return this.refuseBarred(now);
    const verdict = this.engine.x.acquire(this.handle, 1, 0, now);
    return verdict === VERDICT_ADMIT ? new Allowed(this) : this.bar(now, this.decided(verdict, now));
  }

  protected override async run<T>(
    task: Task<T>,
    options: CostOptions | undefined,
    asValue: boolean,
  ): Promise<unknown> {
    if (options !== undefined || this.queued || this.common.emitter.heard) {
      return super.run(task, options, asValue);
    }
    checkTask(task);
    const now = this.clock.now();
    const verdict = this.engine.x.acquire(this.handle, 1, 0, now);
    if (verdict !== VERDICT_ADMIT) {
      return this.runAdmitted(task, undefined, asValue, this.decided(verdict, now));
    }
    const value = await task(new Running(1));
    return asValue ? { ok: true, value } : value;
  }

  protected override get callNames(): readonly string[] {
    return this.key === undefined ? ['signal', 'cost'] : ['signal', 'cost', 'key'];
  }

  protected override admitted(): LimiterAdmission {
    return new Allowed(this);
  }

  protected override shown(): [string, object] {
    this.perform(ACTION_PEEK);
    return ['RateLimiter', { name: this.common.name, free: this.engine.words()[SLOT_FREE] }];
  }

  protected override refund(granted: Held, cost: number): void {
    this.perform(ACTION_CANCEL, 0, cost, granted);
  }

  /** Returns what `tryAcquire` would return, and takes nothing. */
  peek(options?: CostOptions): Verdict {
    const verdict = this.perform(ACTION_PEEK, 0, this.costOf(options));
    return verdict === VERDICT_ADMIT ? this.admitted() : this.rejection();
  }

  /** Returns what it has left, for headers and displays. It takes nothing. */
  quota(): Quota {
    const limit = mostOf(this.options);
    const wait = (cost: number): number => {
      const verdict = this.perform(ACTION_PEEK, 0, cost);
      return verdict === VERDICT_ADMIT ? 0 : (this.engine.floats()[SLOT_MILLIS] as number);
    };
    const next = wait(1);
    const remaining = this.engine.words()[SLOT_FREE] as number;
    return { step: this.common.name, limit, remaining, next, reset: wait(limit), rate: rateOf(this.options) };
  }

  /**
   * Replaces its settings: what is left out has its default. What was taken and who waits stay, as the `configure` of a
   * policy says. Its name, clock and functions stay. Throws `PolicyError`, and changes nothing, for wrong settings.
   */
  configure(options: RateLimiterOptions | LimitRate): void {
    reshare(this.common, this.alone as Alone, options);
    this.readopt(options);
  }

  /** @internal */
  readopt(options: unknown): void {
    this.options = options;
    this.adoptOptions(mayWait(options));
  }

  /** Forgets what was taken: all permits are free. Callers that wait are refused. */
  reset(): void {
    this.perform(ACTION_RESET);
  }
}
