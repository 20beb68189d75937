import { checkAlone, checkTask, wrongArgument } from '../base/checks.js';
import { inspectable } from '../base/observable.js';
import type {
  BreakerState,
  CallOptions,
  Classifier,
  CommonOptions,
  Reason,
  Rejection,
  Task,
} from '../base/types.js';
import { reshare, share } from '../engine/shared.js';
import {
  ACTION_PEEK,
  ACTION_RECORD,
  ACTION_RESET,
  ACTION_TRANSITION,
  MODES,
  NONE,
  OUTCOME_CANCEL,
  OUTCOME_FAIL,
  OUTCOME_IGNORE,
  OUTCOME_OK,
  OUTCOMES,
  SLOT_COUNT,
  SLOT_MILLIS,
  SLOT_MODE,
  SLOT_TIMELESS,
  VERDICT_ADMIT,
} from '../generated/abi.js';
import type { BreakerSettings } from '../generated/settings.js';
import { Running } from '../pipeline/attempt.js';
import { numberOf, retryAfterOf } from '../pipeline/meaning.js';
import { breakerAlone } from '../reader/alone.js';
import { Cell } from './cell.js';
import { Held } from './held.js';

/** Settings of a circuit breaker. */
export interface CircuitBreakerOptions extends CommonOptions, Classifier, BreakerSettings {}

/** An admission by a circuit breaker. The caller ends it once, by one of its methods; later calls do nothing. */
export interface BreakerPass {
  readonly ok: true;
  /** The call went well. */
  success(): void;
  /** The call failed, with an error for listeners. */
  failure(error?: unknown): void;
  /** Neither: the breaker does not count it. */
  ignore(): void;
}

/** The most milliseconds that the core takes. */
const MOST = 2 ** 32 - 1;

/** The `retryAfter` of an error in whole milliseconds, 0 for none. */
function millisOf(error: unknown): number {
  const after = retryAfterOf(undefined, error, undefined);
  return after > 0 ? Math.min(Math.ceil(after), MOST) : 0;
}

class Vote implements BreakerPass {
  readonly ok = true;

  /**
   * `permit` is undefined where shadow mode enforced nothing: the outcome is not counted.
   * `began` is when it was admitted, NaN where no listener would be told.
   */
  constructor(
    private readonly owner: CircuitBreaker,
    private permit: Held | undefined,
    private readonly began: number,
  ) {}

  // Bound functions, created on first use.
  get success() {
    return () => this.end(OUTCOME_OK);
  }

  get failure() {
    return (error?: unknown) => this.end(OUTCOME_FAIL, error);
  }

  get ignore() {
    return () => this.end(OUTCOME_IGNORE);
  }

  end(outcome: number, error?: unknown): void {
    const { permit } = this;
    this.permit = undefined;
    if (!permit) return;
    this.owner.record(outcome, permit, error);
    if (this.owner.emitter.hears('end')) this.owner.ended(outcome, this.began, error);
  }

  /** What `console.log` shows. */
  shown(): [string, object] {
    return ['BreakerPass', { ok: true, ended: !this.permit }];
  }
}

inspectable(Vote);

/** Stops calls to a dependency that fails, and tries again after a while. Make one with `circuitBreaker`. */
export class CircuitBreaker extends Cell<BreakerPass, CallOptions> {
  /** What needs no time while it is closed: 1 a call that succeeds, 2 its admission, 0 nothing. */
  private timeless = 0;

  /** @internal */
  constructor(private options: CircuitBreakerOptions) {
    super(share(breakerAlone, options), false);
  }

  /** What it does now. */
  get state(): BreakerState {
    this.wake();
    return MODES[this.engine.words()[SLOT_MODE] as number] as BreakerState;
  }

  /** Changes the state by hand. Forced and watching states stay until the next change by hand. */
  transition(state: BreakerState): void {
    const mode = MODES.indexOf(state);
    if (mode < 0) wrongArgument('state', state, MODES.join(', '));
    this.perform(ACTION_TRANSITION, 0, mode);
  }

  /**
   * Replaces its settings: what is left out has its default. The state stays, as the `configure` of a policy says; so do
   * its name, clock and functions. Throws `PolicyError`, and changes nothing, for wrong settings.
   */
  configure(options: CircuitBreakerOptions): void {
    reshare(this.common, breakerAlone, options);
    const { outcome } = this.options;
    this.options = { ...options, ...(outcome && { outcome }) };
    this.timeless = 0;
    this.adoptOptions(false);
  }

  /** Returns it to the state in which it started, without outcomes. */
  reset(): void {
    this.perform(ACTION_RESET);
  }

  /** @internal */
  record(outcome: number, permit: Held, error?: unknown): void {
    const { engine } = this;
    // After dispose() there is nothing to be counted.
    if (!this.common.handles.size) return;
    this.barred = undefined;
    permit.put(engine.words());
    const now = outcome === OUTCOME_OK && this.timeless === 1 ? NONE : this.clock.now();
    const after = this.options.obey_retry_after === undefined ? 0 : millisOf(error);
    const verdict = engine.x.step(this.handle, ACTION_RECORD, outcome, after, now);
    if (verdict < 0) engine.check(verdict);
    const words = engine.words();
    if (words[SLOT_COUNT] === 0) this.timeless = words[SLOT_TIMELESS] as number;
    else this.react();
  }

  /**
   * Emits the end of a call.
   * @internal
   */
  ended(outcome: number, began: number, error: unknown): void {
    const duration = Number.isNaN(began) ? undefined : this.common.clock.now() - began;
    this.tell('end', { outcome: OUTCOMES[outcome] as 'ok', duration, error });
  }

  override tryAcquire(options?: CallOptions): BreakerPass | Rejection {
    if (options !== undefined || this.common.emitter.watched) return super.tryAcquire(options);
    const { barred } = this;
    const now = this.now();
    if (barred !== undefined && now < barred) return this.refuseBarred(now);
    return this.bar(now, this.decided(this.engine.x.acquire(this.handle, 1, 0, now), now));
  }

  protected override async run<T>(
    task: Task<T>,
    options: CallOptions | undefined,
    asValue: boolean,
  ): Promise<unknown> {
    if (options !== undefined || this.common.emitter.watched) return super.run(task, options, asValue);
    checkTask(task);
    const { engine, barred } = this;
    const now = this.timeless ? NONE : this.clock.now();
    if (barred !== undefined && now < barred)
      return this.runAdmitted(task, undefined, asValue, this.refuseBarred(now));
    const verdict = engine.x.acquire(this.handle, 1, 0, now);
    if (verdict !== VERDICT_ADMIT) {
      return this.runAdmitted(task, undefined, asValue, this.bar(now, this.decided(verdict, now)));
    }
    const words = engine.words();
    const permit = new Held(words);
    // It has become half-open.
    if (words[SLOT_COUNT] !== 0) this.react();
    const { outcome } = this.options;
    let value: T;
    try {
      value = await task(new Running(1));
    } catch (error) {
      this.record(numberOf(outcome, true, error, undefined), permit, error);
      throw error;
    }
    this.record(outcome ? numberOf(outcome, false, undefined, value) : OUTCOME_OK, permit);
    return asValue ? { ok: true, value } : value;
  }

  protected override get reacts(): boolean {
    return true;
  }

  protected override admitted(words?: Int32Array): BreakerPass {
    const { emitter, clock } = this.common;
    return new Vote(this, words && new Held(words), emitter.hears('end') ? clock.now() : NaN);
  }

  protected override shown(): [string, object] {
    return ['CircuitBreaker', { name: this.common.name, state: this.state }];
  }

  protected override refund(): void {}

  protected override now(): number {
    return this.timeless ? NONE : super.now();
  }

  protected override settle(
    vote: BreakerPass,
    threw: boolean,
    error: unknown,
    value: unknown,
    signal?: AbortSignal,
  ): void {
    // A cancelled call says nothing about the dependency.
    const cancelled = threw && signal?.aborted;
    const outcome = cancelled ? OUTCOME_CANCEL : numberOf(this.options.outcome, threw, error, value);
    (vote as Vote).end(outcome, error);
  }

  protected override react(): void {
    // Only here: an admission by a closed breaker leaves the slot as another breaker left it.
    this.timeless = this.engine.words()[SLOT_TIMELESS] as number;
    super.react();
  }

  protected override changed(mode: number, reason: Reason): void {
    const { wakes, clock, emitter } = this.common;
    const state = MODES[mode] as BreakerState;
    this.tell('change', { state, reason: reason || undefined });
    if (state !== 'open' || !emitter.heard) return;
    // While there is a listener, the end of the open time is emitted when it comes. The microsecond is for rounding.
    const now = clock.now();
    this.engine.x.step(this.handle, ACTION_PEEK, 0, 1, now);
    wakes.set(this, now + (this.engine.floats()[SLOT_MILLIS] as number) + 0.001);
  }
}

/**
 * A circuit breaker: it stops calling what fails, and tries again after a while.
 * Throws `PolicyError` for wrong options.
 *
 * @example
 * const breaker = circuitBreaker({ window: { calls: 100 }, failure_rate: '50%', open: '30s' });
 * const user = await breaker.execute(() => fetchUser(id));
 */
export function circuitBreaker(options?: CircuitBreakerOptions): CircuitBreaker;
export function circuitBreaker(options: CircuitBreakerOptions = {}, more?: unknown): CircuitBreaker {
  checkAlone('circuitBreaker', more);
  return new CircuitBreaker(options);
}
