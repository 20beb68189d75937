import { checkCall, checkHooks, checkKey, wrongArgument } from '../base/checks.js';
import { defaultClock } from '../base/clock.js';
import type { Emitter } from '../base/emitter.js';
import { Observable } from '../base/observable.js';
import type { Snapshot } from '../base/snapshot.js';
import type { Admission, CallOptions, CommonOptions, Rejection, Success, Task } from '../base/types.js';
import { compile } from '../engine/engine.js';
import { settings } from '../engine/shared.js';
import type { PipelineCallOptions } from '../pipeline/call-options.js';
import type { ResultHooks } from '../pipeline/options.js';
import type { PipelinePass } from '../pipeline/pass.js';
import { Pipeline } from '../pipeline/pipeline.js';
import type { Step } from '../pipeline/policy.js';
import type { PipelineStep } from '../pipeline/step.js';
import type { Alone } from '../reader/alone.js';
import type { KeyedOptions } from './keyed.js';

/** Options of a call of a key. */
export type KeyedCallOptions = Omit<KeyedOptions, 'cost'>;

/** Settings of a mechanism with a cell for each key. */
export interface KeyedSettings {
  /** The greatest number of keys that have a cell of their own, 1 to 10,000,000. Default 100,000. */
  keys?: number | undefined;
  /**
   * What happens to a new key above `keys`: it evicts another key at which no call waits or holds anything, one
   * that counted nothing before one that is open or used up; or it shares one cell with all other new keys. Default `evict`.
   */
  when_full?: 'evict' | 'share' | undefined;
}

/** A mechanism with a cell for each key: a pipeline of one step. `O` are the options of a call beside its key. */
export abstract class KeyedCells<O extends CallOptions = CallOptions> extends Observable {
  private readonly calls: Pipeline;
  /** What `configure` keeps. */
  private readonly stays: KeyedSettings & { shadow: unknown };
  /** @internal */
  protected readonly cells: PipelineStep;

  /**
   * `more` are settings that the caller does not have.
   * @internal
   */
  constructor(
    private readonly alone: Alone,
    options: object,
    private readonly more?: object,
  ) {
    super();
    const mechanism = alone.mechanism.row.name as 'breaker' | 'bulkhead';
    const { clock, outcome, stack, instance } = checkHooks(mechanism, options) as CommonOptions & ResultHooks;
    const { per } = Object(options) as { per?: unknown };
    if (per !== undefined) wrongArgument(`${mechanism}.per`, per, 'none: the key is that of the call');
    const step = {
      [mechanism]: { ...(settings(options) as object), ...more, per: 'key' },
    } as unknown as Step;
    this.calls = new Pipeline([step], { clock, outcome, stack, instance }, mechanism, true);
    const { keys, when_full, shadow } = options as KeyedSettings & { shadow?: unknown };
    this.stays = { keys, when_full, shadow };
    const [name] = this.calls.names;
    this.cells = this.calls.step(name as string);
  }

  /** @internal */
  override get emitter(): Emitter {
    return this.calls.emitter;
  }

  /** Runs the function under the cell of its key. Throws `RejectedError` when that refuses. */
  execute<T>(task: Task<T>, options: O & KeyedCallOptions): Promise<T> {
    return this.calls.execute(task, this.keyed(options));
  }

  /** Like `execute`, but a refusal is a value. */
  attempt<T>(task: Task<T>, options: O & KeyedCallOptions): Promise<Success<T> | Rejection> {
    return this.calls.attempt(task, this.keyed(options));
  }

  /** Begins a call of a key that the caller makes itself, if it is admitted now. It never waits. */
  tryAcquire(key: string, options?: O): PipelinePass | Rejection {
    return this.calls.tryAcquire(this.keyed({ ...options, key }));
  }

  /** Like `tryAcquire`, but waits as long as the policy allows. */
  async acquire(key: string, options?: O): Promise<PipelinePass | Rejection> {
    return this.calls.acquire(this.keyed({ ...options, key }));
  }

  /** Returns what a call of a key would get, and takes nothing. */
  peek(key: string): Admission | Rejection {
    return this.cells.peek(key);
  }

  /**
   * Replaces the settings of all keys: what is left out has its default. The states stay, as the `configure` of a policy
   * says; so do the name, `shadow`, `keys`, `when_full`, the clock and functions. Throws `PolicyError`, and changes nothing, for wrong settings.
   */
  protected change(options: object): void {
    // What is spread over them below must not hide what a mechanism alone does not have.
    compile(this.alone, settings(options), defaultClock);
    this.calls.configureAlone(
      { ...options, ...this.more, ...this.stays, per: 'key', name: this.cells.name },
      options,
    );
  }

  /** The keys that have a cell. */
  keys(): string[] {
    return this.cells.keys();
  }

  /** Makes the state of a key a new one. Returns false where it has no cell. */
  reset(key: string): boolean {
    return this.cells.reset(key);
  }

  /** Forgets a key. Returns false where it has no cell, and where a call waits or holds something there. */
  evict(key: string): boolean {
    return this.cells.evict(key);
  }

  /** The states of all keys as a plain value, for any storage. */
  snapshot(): Snapshot {
    return this.calls.snapshot();
  }

  /** Restores the states of another process. Returns whether there were some. */
  restore(snapshot: Snapshot): boolean {
    return this.calls.restore(snapshot).length > 0;
  }

  override dispose(): void {
    this.calls.dispose();
  }

  protected override shown(): [string, object] {
    return [`Keyed ${this.cells.mechanism}`, { name: this.cells.name, running: this.calls.running }];
  }

  /** The names of the options of a call. */
  protected get callNames(): readonly string[] {
    return ['signal', 'key'];
  }

  /** Options of a call of the pipeline. Without a key all calls would share a cell. */
  protected keyed(options: KeyedCallOptions): PipelineCallOptions {
    checkCall(options, this.callNames);
    checkKey(options.key);
    return options;
  }
}
