import { refusal, rejected, success } from '../base/errors.js';
import { guard } from '../base/guard.js';
import type { Outcome, Rejection, Task } from '../base/types.js';
import type { Guest } from '../base/wakes.js';
import {
  DECISION_ADMIT,
  DECISION_END,
  DECISION_EXPIRE,
  DECISION_INJECT,
  DECISION_REJECT,
  DECISION_RETRY,
  DECISION_START,
  DECISION_TIMEOUT,
  DECISION_WAIT,
  FLAG_HELD,
  NONE,
  OUTCOME_CANCEL,
  OUTCOME_FAIL,
  OUTCOME_OK,
  OUTCOME_THROTTLE,
  OUTCOMES,
} from '../generated/abi.js';
import { Running } from './attempt.js';
import type { PipelineCallOptions } from './call-options.js';
import { injected, timedOut } from './cuts.js';
import { Kept, type Owner } from './kept.js';
import { delayAfter, numberOf, retryAfterOf } from './meaning.js';
import type { Hooks } from './options.js';
import { type Layout, stepName } from './plan.js';
import type { DecisionRecord } from './records.js';
import type { Softs } from './softs.js';

/** Receives what happens to a call. */
export interface Runner extends Owner {
  /** A running attempt ended, whose value is still read where it keeps something. False where it had been cut at this time. */
  finish(call: Call, attempt: number, outcome: number, after: number, used?: number, kept?: Kept): boolean;
  /** The caller cancelled. */
  giveUp(call: Call): void;
  /** Restarts the leases that a running attempt holds. */
  prolong(call: Call, attempt: number): void;
  /** Whether the call began in the module after its first attempt. */
  readonly late: boolean;
}

/** A call under a policy. The driver decides how it proceeds. */
export class Call {
  // All fields are set here: calls of one shape are quick.
  slot = 0;
  generation = 0;
  /** When it began, in milliseconds of the clock. */
  began = 0;
  /** The steps at which its attempts wait, the step of injected latency included. */
  queues: Map<number, number> | undefined = undefined;
  /** Where each request has a timer of its own. */
  guest: Guest | undefined = undefined;
  /** Its soft limits, where someone hears of them. */
  softs: Softs | undefined = undefined;
  /** The running attempt; the end of another one comes too late. */
  protected running: Running | undefined = undefined;
  /** How the last attempt ended. */
  protected threw = false;
  protected error: unknown = undefined;
  protected value: unknown = undefined;
  /** Where the last attempt, or the call, was cut. */
  protected cutBy: Rejection | undefined = undefined;
  /** What its last attempt would keep. */
  private kept: Kept | undefined = undefined;
  /** Whether it has ended. */
  private closed = false;
  /** When the next attempt begins to pass the steps, in milliseconds of the clock; 0 for the first one. */
  private nextBegins = 0;

  constructor(
    readonly runner: Runner,
    readonly layout: Layout,
    private readonly task: Task<unknown>,
    readonly options: PipelineCallOptions | undefined,
    private readonly asValue: boolean,
    private readonly hooks: Hooks,
    private resolve: (value: unknown) => void,
    private reject: (reason: unknown) => void,
  ) {}

  /** Renews the leases of the running attempt. */
  renew(): void {
    if (this.running) this.runner.prolong(this, this.running.attempt);
  }

  /** Since it began, in milliseconds. */
  elapsed(): number | undefined {
    return this.runner.late ? undefined : this.runner.clock.now() - this.began;
  }

  /** When an attempt is cut that began at a time. */
  ends(began: number): number | undefined {
    let ends = this.began + (this.options?.deadline ?? Infinity);
    for (const { again, after } of this.layout.cuts)
      ends = Math.min(ends, (again ? began : this.began) + after);
    return ends === Infinity ? undefined : ends;
  }

  /** The caller's signal was aborted. */
  handleEvent(): void {
    this.runner.giveUp(this);
  }

  /** The call is over: its caller's signal no longer matters. */
  detach(): void {
    this.options?.signal?.removeEventListener('abort', this);
    this.guest?.leave();
  }

  /** A decision about the call. */
  follow(record: DecisionRecord): void {
    // A listener may have cancelled the call since the decision was made.
    if (this.closed) return;
    const { kind, attempt, step, covered, shadow } = record;
    if (kind === DECISION_WAIT) {
      if (!shadow) this.waitAt(attempt, step);
      return;
    }
    this.queues?.delete(attempt);
    if (kind === DECISION_END) this.finished(record.outcome, covered);
    else if (kind === DECISION_START || (kind === DECISION_ADMIT && !(record.flags & FLAG_HELD))) {
      this.start(attempt);
    } else if (shadow) return;
    else if (kind === DECISION_INJECT) this.injects(record);
    else if (kind === DECISION_RETRY) {
      this.nextBegins = record.value as number;
      this.again();
    } else if (kind === DECISION_TIMEOUT) this.cut(step);
    else if (kind === DECISION_REJECT || kind === DECISION_EXPIRE) {
      this.refuse(refusal(this.nameOf(step), record.reason, record.value), covered);
    }
  }

  /** The call ends. */
  finished(outcome: number, covered: boolean): void {
    if (this.closed) return;
    this.closed = true;
    this.end(outcome, covered);
  }

  /** What an attempt threw that has just ended, or was cut; undefined for none. */
  errorOf(_attempt: number): unknown {
    return this.threw ? this.error : undefined;
  }

  /** An attempt starts. */
  start(attempt: number): void {
    const running = this.begin(attempt);
    const { task } = this;
    let result: unknown;
    try {
      result = task(running);
    } catch (error) {
      this.attemptEnded(running, true, error, undefined);
      return;
    }
    // Not an async function, which would take a promise more.
    Promise.resolve(result).then(
      (value) => this.attemptEnded(running, false, undefined, value),
      (error) => this.attemptEnded(running, true, error, undefined),
    );
  }

  /** The function of an attempt has ended. */
  private attemptEnded(running: Running, threw: boolean, error: unknown, value: unknown): void {
    this.guest?.drain();
    if (!this.ended(running, threw, error, value)) {
      if (!threw) this.dump(value);
      return;
    }
    const { outcome, retryAfter, delay, keeper } = this.hooks;
    const number = threw || outcome ? numberOf(outcome, threw, error, value) : OUTCOME_OK;
    let after = number === OUTCOME_OK ? NONE : retryAfterOf(retryAfter, error, value);
    if (delay && (number === OUTCOME_FAIL || number === OUTCOME_THROTTLE)) {
      after = delayAfter(delay, after, running.attempt, error, value);
    }
    const kept = !threw && keeper?.reads(value) ? new Kept(this.runner, this, running) : undefined;
    this.kept = kept;
    if (!this.runner.finish(this, running.attempt, number, after, running.spent, kept) && !threw) {
      this.dump(value);
    }
  }

  /** Creates what the function of a starting attempt gets. */
  protected begin(attempt: number): Running {
    const running = new Running(attempt, undefined, this);
    this.running = running;
    this.cutBy = undefined;
    this.inform(running);
    return running;
  }

  /** Stores what an attempt may ask for that begins now. */
  protected inform(running: Running, began = this.nextBegins): void {
    running.began = began || this.began;
    if (this.threw) running.lastError = this.error;
  }

  /** Stores how an attempt ended. False where the call no longer depends on it. */
  protected ended(running: Running, threw: boolean, error: unknown, value: unknown): boolean {
    if (this.running !== running) return false;
    this.running = undefined;
    this.threw = threw;
    this.error = error;
    this.value = value;
    return true;
  }

  /** Another attempt follows. */
  protected again(): void {
    if (!this.threw && this.value !== undefined) this.dump(this.value);
    // A refusal that is waited for follows no other attempt.
    this.value = undefined;
  }

  /** A timeout cut what the call was doing. */
  private cut(step: number): void {
    this.stop(this.cutAt(step));
  }

  /** Stores that an attempt was cut, and returns the error. */
  protected cutAt(step: number): unknown {
    const name = this.nameOf(step);
    this.cutBy = refusal(name, 'timeout');
    this.threw = true;
    this.error = timedOut(name);
    return this.error;
  }

  protected nameOf(step: number): string {
    return stepName(this.layout, step) as string;
  }

  /** A chaos step delays an attempt, or ends it. */
  private injects({ attempt, step, outcome, value }: DecisionRecord): void {
    if (outcome) this.inject(attempt, injected(this.nameOf(step), OUTCOMES[outcome] as Outcome, value));
    else this.waitAt(attempt, step);
  }

  private waitAt(attempt: number, step: number): void {
    this.queues ??= new Map();
    this.queues.set(attempt, step);
  }

  /** Stores that an attempt ended with an injected result. */
  protected inject(_attempt: number, error: unknown): void {
    this.cutBy = undefined;
    this.threw = true;
    this.error = error;
    this.value = undefined;
  }

  /** The policy refused. */
  private refuse(rejection: Rejection, covered: boolean): void {
    this.give(rejection, rejected(rejection, this.threw ? this.error : undefined, this.hooks.stack), covered);
  }

  /** The call ended. */
  protected end(outcome: number, covered: boolean): void {
    if (outcome === OUTCOME_CANCEL) {
      const reason = this.options?.signal?.reason;
      this.stop(reason);
      this.reject(reason);
    } else if (this.cutBy) this.give(this.cutBy, this.error, covered);
    else if (covered && this.hooks.fallback) {
      if (!this.threw) this.dump(this.value);
      this.kept?.release();
      this.give(undefined, this.error, true);
    } else if (this.threw) this.reject(this.error);
    else if (this.kept) this.succeedKeeping(this.kept);
    else this.succeed(this.value);
  }

  private give(rejection: Rejection | undefined, error: unknown, covered: boolean): void {
    const { fallback } = this.hooks;
    if (covered && fallback) {
      new Promise((resolve) => resolve(fallback(error))).then((value) => this.succeed(value), this.reject);
    } else if (rejection && this.asValue) this.resolve(rejection);
    else this.reject(error);
  }

  private succeedKeeping(kept: Kept): void {
    const value = this.hooks.keeper?.keep(this.value, kept);
    this.succeed(value);
    // They refer to the value, which is garbage before what it keeps.
    this.resolve = this.reject = () => {};
  }

  private succeed(value: unknown): void {
    this.resolve(this.asValue ? success(true, value) : value);
  }

  /** Aborts the running attempt. */
  protected stop(reason: unknown): void {
    const { running } = this;
    this.running = undefined;
    running?.abort(reason);
  }

  /** Discards a value that no caller will see. */
  protected dump(value: unknown): void {
    const { discard } = this.hooks;
    if (discard) guard(discard, value, discard);
  }
}
