import { ADMITTED, CANCELLED, CUT, ENDED, EXPIRED, NONE, OK, REJECTED, RETRIED } from './abi.js';
import { Running } from './attempt.js';
import { refusal, rejected, success, timedOut } from './errors.js';
import type { Attributes } from './keys.js';
import { numberOf, retryAfterOf } from './meaning.js';
import type { ResultHooks } from './pipeline.js';
import type { Layout } from './plan.js';
import type { CostOptions, Reason, Rejection, Task } from './types.js';
import type { Guest } from './wakes.js';

/** What may be said about a call under a policy. */
export interface PipelineCallOptions extends CostOptions {
  /** What `per: key` means. Default: empty. */
  key?: string;
  /** What other attributes of `per` mean, by their names, as in `header:x-tenant`. Default: empty. */
  attributes?: Attributes;
  /** In how many milliseconds the call is cut, as by an outermost timeout named `deadline`. Default: none. */
  deadline?: number;
}

/** What a call tells of itself. */
export interface Runner {
  /** The running attempt ended. False where it had been cut at this time. */
  finish(call: Call, outcome: number, after: number): boolean;
  /** The caller gave up. */
  giveUp(call: Call): void;
  /** The leases that the call holds begin anew. */
  prolong(call: Call): void;
}

/** A call under a policy. The driver says what becomes of it. */
export class Call {
  slot = 0;
  generation = 0;
  /** Where each request waits for itself. */
  guest: Guest | undefined;
  /** What runs; another one's end comes too late. */
  private running: Running | undefined;
  private threw = false;
  private error: unknown;
  private value: unknown;
  /** Where the last attempt, or the call, was cut. */
  private cutBy: Rejection | undefined;

  constructor(
    private readonly runner: Runner,
    readonly layout: Layout,
    private readonly task: Task<unknown>,
    readonly options: PipelineCallOptions | undefined,
    private readonly asValue: boolean,
    private readonly hooks: ResultHooks,
    private readonly resolve: (value: unknown) => void,
    private readonly reject: (reason: unknown) => void,
  ) {}

  /** The running attempt goes on. */
  renew(): void {
    if (this.running) this.runner.prolong(this);
  }

  /** The caller's signal was aborted. */
  handleEvent(): void {
    this.runner.giveUp(this);
  }

  /** The call is over: nobody need hear of the caller. */
  detach(): void {
    this.options?.signal?.removeEventListener('abort', this);
    this.guest?.leave();
  }

  /** A decision about the call. */
  follow(
    kind: number,
    attempt: number,
    outcome: number,
    step: string | undefined,
    reason: Reason,
    after: number | undefined,
    covered: boolean,
    shadow: boolean,
  ): void {
    if (kind === ADMITTED) void this.start(attempt);
    else if (kind === ENDED) this.end(outcome, covered);
    else if (shadow) return;
    else if (kind === RETRIED) this.again();
    else if (kind === CUT) this.cut(step as string);
    else if (kind === REJECTED || kind === EXPIRED) {
      this.refuse(refusal(step as string, reason, after), covered);
    }
  }

  /** An attempt starts. */
  private async start(attempt: number): Promise<void> {
    const running = new Running(attempt, undefined, this);
    this.running = running;
    this.cutBy = undefined;
    let value: unknown;
    let error: unknown;
    let threw = false;
    try {
      value = await this.task(running);
    } catch (thrown) {
      threw = true;
      error = thrown;
    }
    this.guest?.drain();
    if (this.running !== running) {
      if (!threw) this.dump(value);
      return;
    }
    this.running = undefined;
    this.threw = threw;
    this.error = error;
    this.value = value;
    const { outcome, retryAfter } = this.hooks;
    const number = numberOf(outcome, threw, error, value);
    const after = number === OK ? NONE : retryAfterOf(retryAfter, error, value);
    if (!this.runner.finish(this, number, after) && !threw) this.dump(value);
  }

  /** Another attempt follows. */
  private again(): void {
    if (!this.threw) this.dump(this.value);
  }

  /** A timeout cut what the call was doing. */
  private cut(step: string): void {
    const error = timedOut(step);
    this.cutBy = refusal(step, 'timeout');
    this.threw = true;
    this.error = error;
    this.stop(error);
  }

  /** The policy refused. */
  private refuse(rejection: Rejection, covered: boolean): void {
    this.give(rejection, rejected(rejection, this.threw ? this.error : undefined), covered);
  }

  /** The call ended. */
  private end(outcome: number, covered: boolean): void {
    if (outcome === CANCELLED) {
      const reason = this.options?.signal?.reason;
      this.stop(reason);
      this.reject(reason);
    } else if (this.cutBy) this.give(this.cutBy, this.error, covered);
    else if (covered && this.hooks.fallback) {
      if (!this.threw) this.dump(this.value);
      this.give(undefined, this.error, true);
    } else if (this.threw) this.reject(this.error);
    else this.succeed(this.value);
  }

  private give(rejection: Rejection | undefined, error: unknown, covered: boolean): void {
    const { fallback } = this.hooks;
    if (covered && fallback) {
      try {
        this.succeed(fallback(error));
      } catch (thrown) {
        this.reject(thrown);
      }
    } else if (rejection && this.asValue) this.resolve(rejection);
    else this.reject(error);
  }

  private succeed(value: unknown): void {
    this.resolve(success(this.asValue, value));
  }

  private stop(reason: unknown): void {
    const { running } = this;
    this.running = undefined;
    running?.abort(reason);
  }

  private dump(value: unknown): void {
    try {
      this.hooks.discard?.(value);
    } catch {
      // Nobody is left to be told.
    }
  }
}
