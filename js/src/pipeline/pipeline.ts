import { wrongArgument } from '../base/checks.js';
import { defaultClock } from '../base/clock.js';
import type { Emitter } from '../base/emitter.js';
import { refusal } from '../base/errors.js';
import { Observable } from '../base/observable.js';
import type { Snapshot } from '../base/snapshot.js';
import type { Quota, Rejection, Success, Task } from '../base/types.js';
import { type Engine, engineOf, type Mechanism } from '../engine/engine.js';
import { besideDelay, checkStays } from '../engine/shared.js';
import { checkCallOptions, type PipelineCallOptions } from './call-options.js';
import { PipelineCells } from './cells.js';
import { Driver } from './driver.js';
import { checkOptions, type Hooks, hooksOf, type PipelineOptions } from './options.js';
import type { PipelinePass } from './pass.js';
import { type Part, readSource, readSources, type Source } from './plan.js';
import type { Imported, Policy, PolicyDocument, Step } from './policy.js';
import { PipelineStep } from './step.js';

/** A policy of a document, and the pipeline of another one with which it shares mechanisms. */
interface SharedPart extends Part {
  readonly engine: Engine;
  readonly beside: Pipeline | undefined;
  readonly name: string;
}

/** An active policy: its steps with their state. Make one with `pipeline` or `policy`. */
export class Pipeline extends Observable {
  private readonly engine: Engine;
  private readonly driver: Driver;
  private readonly cells: PipelineCells;
  private readonly hooks: Hooks;

  /**
   * `alone` is the mechanism, where the caller wrote no steps; `keyed` says that it has a cell for each key; `part` is
   * one of the policies of a document, which was read.
   * @internal
   */
  constructor(
    source: Source,
    private readonly options: PipelineOptions = {},
    private readonly alone?: Mechanism | 'timeout' | 'hedge',
    private readonly keyed = false,
    part?: SharedPart,
  ) {
    super();
    if (typeof (source as { execute?: unknown } | null)?.execute === 'function') {
      wrongArgument(
        'policy',
        source,
        'a document, a policy or steps, or a pipeline of this copy of the package',
      );
    }
    const { name, clock = defaultClock, stack, fallback } = options;
    this.engine = part?.engine ?? engineOf(options.instance);
    this.hooks = hooksOf(options);
    const text =
      part?.text ?? readSource(this.engine, source, name, clock, alone, keyed, fallback !== undefined);
    const beside = part?.beside?.driver;
    const recording = options.trace?.attach({
      engine: this.engine,
      clock,
      policy: text.policy,
      name: part?.name,
      beside: beside?.recording,
    });
    this.driver = new Driver(
      recording?.engine ?? this.engine,
      clock,
      text,
      alone === 'retry',
      stack,
      part?.shares,
      beside,
      recording,
    );
    this.cells = new PipelineCells(this.driver, fallback !== undefined);
  }

  /** @internal */
  override get emitter(): Emitter {
    return this.driver.emitter;
  }

  /**
   * Frees its memory when its running calls have ended; later calls reject with a
   * `PolicyError`.
   */
  override dispose(): void {
    this.driver.dispose();
  }

  /** How many calls have begun and not ended; those that wait are among them. */
  get running(): number {
    return this.driver.active;
  }

  /** Resolves as soon as no call runs. */
  drain(): Promise<void> {
    return this.driver.drain();
  }

  /**
   * Refuses new calls with the reason `stopped`, and resolves when those that have begun have
   * ended. It is for the end of a process; the calls that run end as without it.
   */
  stop(): Promise<void> {
    this.driver.stopped = true;
    return this.drain();
  }

  /**
   * A step of the active policy by its name, to be watched and changed by hand. Throws
   * `PolicyError` for a name that the policy does not have, also later, after `configure`.
   */
  step(name: string): PipelineStep {
    this.cells.locate(name);
    return new PipelineStep(this.cells, name);
  }

  /**
   * What the enforced limits of the policy have left for a call, outermost first: for
   * headers and displays. It takes nothing. Inside the function of a call that is what the call left.
   */
  quotas(options?: PipelineCallOptions): Quota[] {
    if (options !== undefined) checkCallOptions(options);
    return this.cells.quotas(options);
  }

  /**
   * The names of its steps.
   * @internal
   */
  get names(): readonly string[] {
    return this.cells.names;
  }

  protected override shown(): [string, object] {
    return ['Pipeline', { steps: this.names, running: this.running }];
  }

  /** The active policy, as it was written. */
  get policy(): Policy {
    return this.driver.layout.policy;
  }

  /**
   * Runs the function under the policy. Throws `RejectedError` when the policy
   * refuses, `TimeoutError` when a timeout cuts the call, `InjectedError` when a chaos
   * step ends the last attempt, and what that threw when it fails. An aborted signal cancels the call and rejects with its reason.
   */
  execute<T>(task: Task<T>, options?: PipelineCallOptions): Promise<T> {
    return this.driver.run(task, options, false, this.hooks) as Promise<T>;
  }

  /** Like `execute`, but a refusal or a cut is a value. What the function throws is thrown. */
  attempt<T>(task: Task<T>, options?: PipelineCallOptions): Promise<Success<T> | Rejection> {
    return this.driver.run(task, options, true, this.hooks) as Promise<Success<T> | Rejection>;
  }

  /**
   * Runs a function under given hooks.
   * @internal
   */
  run<T>(task: Task<T>, options: PipelineCallOptions, hooks: Hooks): Promise<unknown> {
    return this.driver.run(task, options, false, hooks);
  }

  /**
   * Begins a call whose one attempt the caller makes itself, if all steps admit it now. It never
   * waits: where a chaos step would delay the attempt, it refuses with the reason `wait`. No
   * further attempt follows a failure; timeouts abort the signal of the pass. Throws the
   * reason of an aborted signal, and an `InjectedError` where a chaos step ends the attempt.
   */
  tryAcquire(options?: PipelineCallOptions): PipelinePass | Rejection {
    const { driver, cells } = this;
    if (options !== undefined) checkCallOptions(options);
    if (options?.signal?.aborted) throw options.signal.reason;
    const refused = driver.stopped ? driver.refuseStopped(options) : cells.refusing(options);
    if (refused) return refused;
    let verdict: PipelinePass | Rejection | undefined;
    const answer = (given: PipelinePass | Rejection): void => {
      verdict = given;
    };
    let thrown: [reason: unknown] | undefined;
    const fail = (reason: unknown): void => {
      thrown = [reason];
    };
    const call = driver.byHand(cells, options, answer, fail);
    if (verdict) return verdict;
    if (thrown) throw (thrown as [unknown])[0];
    // A step that enforces for a share of the calls, or injected latency.
    const step = call.queuedAt();
    driver.giveUp(call);
    return refusal(step, 'wait');
  }

  /** Like `tryAcquire`, but waits at the steps as long as the policy allows. An aborted signal and an injected result reject. */
  acquire(options?: PipelineCallOptions): Promise<PipelinePass | Rejection> {
    const { driver, cells } = this;
    return new Promise((resolve, reject) => {
      if (options !== undefined) checkCallOptions(options);
      if (options?.signal?.aborted) reject(options.signal.reason);
      else if (driver.stopped) resolve(driver.refuseStopped(options));
      else driver.byHand(cells, options, resolve, reject);
    });
  }

  /**
   * Replaces the active policy. Steps keep their state by name; running calls keep
   * their policy. Throws `PolicyError` and changes nothing where the new one is wrong.
   */
  configure<const D extends object>(source: D & Imported<D>): void;
  configure(source: Source): void;
  configure(source: Source): void {
    if (this.alone) {
      this.configureAlone(source as object, source);
      return;
    }
    this.driver.keep();
    const { name, fallback } = this.options;
    const { clock } = this.driver;
    this.driver.configure(
      readSource(this.engine, source, name, clock, undefined, false, fallback !== undefined),
    );
  }

  /**
   * Replaces the settings of a mechanism alone; `given` are the settings of the user.
   * @internal
   */
  configureAlone(options: unknown, given: unknown): void {
    const { driver, alone, keyed } = this;
    checkStays(given);
    const step = alone === 'retry' ? besideDelay(options, this.hooks.delay) : options;
    driver.keep();
    const steps = [{ [alone as string]: this.cells.kept(0, step) }] as unknown as readonly Step[];
    driver.configure(readSource(this.engine, steps, undefined, driver.clock, alone, keyed));
  }

  /** The states of limiters, breakers and budgets as a plain value, for any storage. */
  snapshot(): Snapshot {
    return this.cells.snapshot();
  }

  /**
   * Restores the states of another process: the wall time since then counts as
   * passed. Returns the names of the steps for which it found a state. It is for the
   * start of a process; throws `PolicyError` for a value that is not a snapshot.
   */
  restore(snapshot: Snapshot): string[] {
    return this.cells.restore(snapshot);
  }
}

/**
 * A pipeline of steps, outermost first. Every attempt passes the steps below a retry
 * again. Throws `PolicyError` for wrong steps.
 *
 * @example
 * const vendor = pipeline([{ timeout: '30s' }, { retry: 3 }, { breaker: {} }, { timeout: '10s' }]);
 * const answer = await vendor.execute(({ signal }) => fetch(url, { signal }));
 */
export const pipeline = (steps: readonly Step[], options?: PipelineOptions): Pipeline =>
  new Pipeline(steps, checkOptions('pipeline', options));

/**
 * A policy of a document, or of the body of one policy; either may be JSON, as a text
 * or its bytes. The name, or `name` of the options, chooses where the document has
 * several policies. Throws `PolicyError` for a wrong document, with all that is wrong,
 * and the lines and columns in a text.
 */
export function policy<const D extends object>(
  document: D & Imported<D>,
  name?: string | PipelineOptions,
): Pipeline;
export function policy(
  document: PolicyDocument | Policy | string | Uint8Array,
  name?: string | PipelineOptions,
): Pipeline;
export function policy(document: Source, name?: string | PipelineOptions): Pipeline {
  return new Pipeline(document, typeof name === 'string' ? { name } : checkOptions('policy', name));
}

/**
 * The policies of a document by their names. Those that use one of its `mechanisms` share its state, which a policy that
 * is made by itself has alone. Throws `PolicyError` as `policy` does.
 *
 * @example
 * const { search, login } = policies({
 *   version: 1,
 *   mechanisms: { vendor: { limit: '50/1m' } },
 *   policies: { search: { steps: [{ use: 'vendor' }] }, login: { steps: [{ timeout: '5s' }, { use: 'vendor' }] } },
 * });
 */
export function policies<const D extends { readonly version: number }>(
  document: D & Imported<D>,
  options?: Omit<PipelineOptions, 'name'>,
): { [name: string]: Pipeline };
export function policies(
  document: PolicyDocument | string | Uint8Array,
  options?: Omit<PipelineOptions, 'name'>,
): { [name: string]: Pipeline };
export function policies(
  document: Source,
  options?: Omit<PipelineOptions, 'name'>,
): { [name: string]: Pipeline } {
  const checked = checkOptions('policies', options);
  const engine = engineOf(checked.instance);
  const all: [string, Pipeline][] = [];
  let beside: Pipeline | undefined;
  const covers = checked.fallback !== undefined;
  for (const [name, part] of readSources(engine, document, checked.clock ?? defaultClock, covers)) {
    const shared = part.shares ? beside : undefined;
    const made = new Pipeline(document, { ...checked, name }, undefined, false, {
      ...part,
      engine,
      beside: shared,
      name,
    });
    if (part.shares) beside ??= made;
    all.push([name, made]);
  }
  return Object.fromEntries(all);
}
