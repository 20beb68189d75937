import type { Quota, Rejection } from '../base/types.js';
import { NONE, OUTCOME_FAIL, OUTCOME_IGNORE, OUTCOME_OK, OUTCOME_THROTTLE } from '../generated/abi.js';
import type { Running } from './attempt.js';
import { Call, type Runner } from './call.js';
import type { PipelineCallOptions } from './call-options.js';
import { retryAfterOf } from './meaning.js';
import { hooksOf } from './options.js';
import type { Layout } from './plan.js';

/** What knows what limits have left for a call. */
export interface Lender {
  quotas(options: PipelineCallOptions | undefined): Quota[];
}

/** An admission by a pipeline. The caller ends it once, by one of its methods; later calls do nothing. */
export class PipelinePass {
  readonly ok = true;
  // Private to the language: console.log does not show them.
  readonly #call: HandCall;
  readonly #given: Running;
  readonly #lender: Lender;

  /** @internal */
  constructor(call: HandCall, given: Running, lender: Lender) {
    this.#call = call;
    this.#given = given;
    this.#lender = lender;
  }

  /** Aborted when the caller's signal is, and when a timeout of the policy cuts the call. */
  get signal(): AbortSignal {
    return this.#given.signal;
  }

  /** What the enforced limits have left for such a call. */
  get quotas(): readonly Quota[] {
    return this.#lender.quotas(this.#call.options);
  }

  // Bound functions, created on first use.
  /** The call went well. */
  get success(): () => void {
    return () => this.#call.conclude(this.#given, OUTCOME_OK);
  }

  /**
   * The call failed, with an error for listeners. The `retryAfter` of the error, in milliseconds, opens breakers with
   * `obey_retry_after`, in a policy without a `retry`.
   */
  get failure(): (error?: unknown) => void {
    return (error) => this.#call.conclude(this.#given, OUTCOME_FAIL, error);
  }

  /** The dependency refused by a limit of its own. The error is as for `failure`. */
  get throttle(): (error?: unknown) => void {
    return (error) => this.#call.conclude(this.#given, OUTCOME_THROTTLE, error);
  }

  /** Neither: it says nothing about the dependency. */
  get ignore(): () => void {
    return () => this.#call.conclude(this.#given, OUTCOME_IGNORE);
  }

  /** Says how many permits it has used so far, for limits that settle: the last number before its end counts. */
  get used(): (permits: number) => void {
    return this.#given.used;
  }

  /** Restarts the leases of the bulkhead places that it holds. */
  get renew(): () => void {
    return () => this.#call.renew();
  }
}

/** A pass for `using`, where the runtime has it: at its end `ignore`, unless it was ended before. */
export interface PipelinePass extends Disposable {}

// Not a method of the class: runtimes without `using` have no such symbol.
if (Symbol.dispose) {
  PipelinePass.prototype[Symbol.dispose] = function (): void {
    this.ignore();
  };
}

/** A call whose only attempt the caller makes itself. */
export class HandCall extends Call {
  constructor(
    runner: Runner,
    private readonly lender: Lender,
    layout: Layout,
    options: PipelineCallOptions | undefined,
    stack: boolean | undefined,
    private readonly answer: (verdict: PipelinePass | Rejection) => void,
    reject: (reason: unknown) => void,
  ) {
    const resolve = answer as (value: unknown) => void;
    super(runner, layout, () => {}, options, true, hooksOf({ stack }), resolve, reject);
  }

  override start(attempt: number): void {
    this.answer(new PipelinePass(this, this.begin(attempt), this.lender));
  }

  /** The step at which it waits. */
  queuedAt(): string {
    return this.nameOf(this.queues?.values().next().value ?? 0);
  }

  /** The caller says how its attempt ended. */
  conclude(given: Running, outcome: number, error?: unknown): void {
    if (!this.ended(given, error !== undefined, error, undefined)) return;
    // The caller makes no further attempt, and a retry would wait for one.
    const retries = this.layout.steps.some(({ mechanism }) => mechanism === 'retry');
    const after = retries ? -1 : retryAfterOf(undefined, error, undefined);
    this.runner.finish(this, given.attempt, outcome, outcome === OUTCOME_OK ? NONE : after, given.spent);
  }
}
