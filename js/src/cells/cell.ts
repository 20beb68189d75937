import { checkCall, checkCost, checkTask } from '../base/checks.js';
import type { Emitter, Told } from '../base/emitter.js';
import { disposed, refusal, refusalUntil, rejected, success } from '../base/errors.js';
import { Observable } from '../base/observable.js';
import { type Snapshot, shift, taken } from '../base/snapshot.js';
import type {
  Admission,
  Clock,
  CostOptions,
  Decision,
  Reason,
  Rejection,
  Success,
  Task,
} from '../base/types.js';
import { guests, NEVER } from '../base/wakes.js';
import type { Engine } from '../engine/engine.js';
import type { Shared } from '../engine/shared.js';
import {
  ACTION_LEAVE,
  ACTION_TRY,
  EFFECT_DROP,
  EFFECT_GRANT,
  EFFECT_LAPSE,
  NONE,
  PERMIT_WORDS,
  REASONS,
  SLOT_COUNT,
  SLOT_MILLIS,
  SLOT_REASON,
  SLOT_RECORDS,
  SLOT_WAKE_MILLIS,
  VERDICT_ADMIT,
  VERDICT_WAIT,
} from '../generated/abi.js';
import { Running, untilAborted } from '../pipeline/attempt.js';
import { Held } from './held.js';
import { Waiter, Waiters } from './waiters.js';

/** The result of an admission. */
export interface Pass extends Admission {
  renew?(): void;
}

/** The words of a record of an effect on another caller. */
const RECORD_WORDS = 8;

/** Makes a cell in the module. Returns its handle, which is freed with the others. */
export function newCell({ engine, clock, maker, handles }: Shared): number {
  const handle = engine.check(engine.x.cell(maker(), clock.now()));
  handles.add(handle);
  return handle;
}

/** A mechanism with a state in the module, and its waiters. `P` is the result of an admission. */
// Not `implements Wake`: what is internal is not in the declarations.
export abstract class Cell<P extends Pass, O extends CostOptions = CostOptions> extends Observable {
  /** @internal */
  due = NEVER;
  /** @internal */
  place = -1;
  /** @internal */
  waits = 0;
  /** @internal */
  unset = false;
  /** @internal */
  readonly handle: number;
  protected readonly engine: Engine;
  protected readonly clock: Clock;
  /** Only where callers may wait: there may be many cells. */
  private waiters: Waiters<P> | undefined;

  /**
   * `queued` says that callers may wait, or that time alone may end something: only
   * then does the module say when to wake the cell. Without a handle it makes a cell.
   * @internal
   */
  constructor(
    /** @internal */
    readonly common: Shared,
    protected queued: boolean,
    protected key?: string,
    handle?: number,
  ) {
    super();
    this.engine = common.engine;
    this.clock = common.clock;
    this.handle = handle ?? newCell(common);
    this.waiters = queued ? new Waiters() : undefined;
  }

  /** @internal */
  override get emitter(): Emitter {
    return this.common.emitter;
  }

  /**
   * Returns the result of an admission, whose permit is in the words; without words
   * where shadow mode enforced nothing, though a waiter may be in the queue.
   */
  protected abstract admitted(words?: Int32Array, at?: number, waiter?: Waiter<P>): P;
  /** Returns the permit that was granted to a waiter that had left. */
  protected abstract refund(granted: Held, cost: number): void;
  /** Ends what was admitted, the first time. `threw` distinguishes an error that is undefined from no error. */
  protected settle?(pass: P, threw: boolean, error: unknown, value: unknown, signal?: AbortSignal): void;
  /** Whether a refusal may concern others, or change what the next step needs. */
  protected get reacts(): boolean {
    return this.queued;
  }
  /** Whether a refusal begins no block, because as many keys as may be have one. Beside blocks no caller waits. */
  protected get unblocked(): boolean {
    return false;
  }
  /** The first caller begins to wait, or the last one no longer waits. */
  protected held?(waits: boolean): void;
  /** A breaker has changed its mode, and why, empty where no reason is known. */
  protected changed?(mode: number, reason: Reason): void;

  /** Until when all calls of the default cost are refused, if nothing but time passes. Undefined takes no memory. */
  protected barred: number | undefined = undefined;
  private barredBy: Reason = 'rate';

  /** Stores for how long a refusal holds, so that the next ones need no call of the module. */
  protected bar(now: number, result: P | Rejection): P | Rejection {
    if (
      !result.ok &&
      result.retryAfter !== undefined &&
      (result.reason === 'rate' || result.reason === 'open')
    ) {
      this.barred = now + result.retryAfter;
      this.barredBy = result.reason;
    }
    return result;
  }

  /** The refusal of a call before `barred`. */
  protected refuseBarred(now: number): Rejection {
    return refusalUntil(this.common.name, this.barredBy, now, this.barred as number);
  }

  /** The mark of a step; NaN where the cell needs none. */
  protected now(): number {
    return this.clock.now();
  }

  /**
   * Continues the state under the options that the mechanism has now.
   * @internal
   */
  adoptOptions(queued: boolean): void {
    const { engine, common, clock } = this;
    this.barred = undefined;
    if (queued && !this.waiters) {
      this.queued = true;
      this.waiters = new Waiters();
    }
    engine.check(engine.x.adopt(this.handle, common.maker(), clock.now()));
    this.react();
  }

  /** The names of the options of a call. */
  protected get callNames(): readonly string[] {
    return ['signal'];
  }

  /** Acquires permits if they are free. It never waits, and throws the reason of an aborted signal. */
  tryAcquire(options?: O): P | Rejection {
    const cost = this.costOf(options);
    if (options?.signal?.aborted) throw options.signal.reason;
    const { x } = this.engine;
    const now = this.now();
    const verdict = this.queued
      ? x.step(this.handle, ACTION_TRY, this.unblocked ? 1 : 0, cost, now)
      : x.acquire(this.handle, cost, 0, now);
    return this.decided(verdict, now);
  }

  /**
   * The result of a verdict at a time, other than to wait.
   * @internal
   */
  decided(verdict: number, now: number): P | Rejection {
    return verdict === VERDICT_ADMIT ? this.admit(now) : this.refuse(verdict, now);
  }

  /**
   * Acquires permits and waits for its turn, as long as the policy allows. An aborted
   * signal frees the place in the queue and rejects with its reason.
   */
  async acquire(options?: O): Promise<P | Rejection> {
    return this.enter(options);
  }

  /**
   * Runs the function, or throws `RejectedError` when the policy refuses. What the
   * function throws is thrown; an aborted signal rejects with its reason.
   */
  execute<T>(task: Task<T>, options?: O): Promise<T> {
    return this.run(task, options, false) as Promise<T>;
  }

  /** Like `execute`, but a refusal is a value. What the function throws is thrown. */
  attempt<T>(task: Task<T>, options?: O): Promise<Success<T> | Rejection> {
    return this.run(task, options, true) as Promise<Success<T> | Rejection>;
  }

  /** The state as a plain value, for any storage. */
  snapshot(): Snapshot {
    const { clock, name } = this.common;
    return taken(clock, { [name]: this.stored() });
  }

  /**
   * Restores the state of another process, without its waiters and holders: the wall
   * time since then counts as passed. Returns false where the snapshot has no state of
   * this name and mechanism; throws `PolicyError` for a value that is not a snapshot.
   */
  restore(snapshot: Snapshot): boolean {
    const { clock, name } = this.common;
    const by = shift(clock, snapshot);
    const state = snapshot.steps[name];
    return typeof state === 'string' && this.adopt(state, by);
  }

  /** @internal */
  stored(): string {
    return this.engine.stateText(this.engine.x.state(this.handle));
  }

  /** @internal */
  adopt(state: string, by: number): boolean {
    const { engine, clock } = this;
    const restored = engine.x.restore(this.handle, engine.putState(state), by, clock.now());
    this.barred = undefined;
    if (!engine.accepted(restored)) return false;
    this.react();
    return true;
  }

  /** Mechanisms run functions without options, signals and listeners in a shorter way. */
  protected async run<T>(task: Task<T>, options: O | undefined, asValue: boolean): Promise<unknown> {
    checkTask(task);
    const pass = this.enter(options);
    return this.runAdmitted(task, options?.signal, asValue, pass instanceof Promise ? await pass : pass);
  }

  /** Runs a function after a decision. */
  protected async runAdmitted<T>(
    task: Task<T>,
    signal: AbortSignal | undefined,
    asValue: boolean,
    pass: P | Rejection,
  ): Promise<unknown> {
    if (!pass.ok) {
      if (asValue) return pass;
      throw rejected(pass, undefined, this.common.stack);
    }
    let value: T;
    try {
      const running = new Running(1, signal, pass);
      // What it holds is free at once: a policy around it may start another call at the abort, which comes here too.
      const left = (): void => this.settle?.(pass, true, signal?.reason, undefined, signal);
      value = await (signal ? untilAborted(signal, () => task(running), left) : task(running));
    } catch (error) {
      this.settle?.(pass, true, error, undefined, signal);
      throw error;
    }
    this.settle?.(pass, false, undefined, value);
    return success(asValue, value);
  }

  private enter(options: O | undefined): P | Rejection | Promise<P | Rejection> {
    const signal = options?.signal;
    const cost = this.costOf(options);
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!this.queued) return this.tryAcquire(options);
    const caller = this.nextCaller();
    const now = this.now();
    const { x } = this.engine;
    const verdict = this.unblocked
      ? x.step(this.handle, ACTION_TRY, 1, cost, now)
      : x.acquire(this.handle, cost, caller, now);
    return this.entered(verdict, caller, cost, now, signal);
  }

  /** The number that the next caller has, should it wait. */
  protected nextCaller(): number {
    return this.waiters?.next() ?? 0;
  }

  /** The result of a verdict. */
  protected entered(
    verdict: number,
    caller: number,
    cost: number,
    now: number,
    signal?: AbortSignal,
  ): P | Rejection | Promise<P | Rejection> {
    return verdict === VERDICT_WAIT ? this.wait(caller, cost, signal) : this.decided(verdict, now);
  }

  /** The cost of a call, whose options are checked. */
  protected costOf(options: O | undefined): number {
    if (options === undefined) return 1;
    checkCall(options, this.callNames);
    return checkCost(options.cost);
  }

  /**
   * Frees its memory. Callers that wait are rejected with a `PolicyError`, later calls
   * throw one. What was admitted may still end.
   */
  override dispose(): void {
    const { engine, handles, wakes } = this.common;
    this.barred = undefined;
    wakes.set(this, NEVER);
    engine.release(handles);
    for (const waiter of this.waiters?.all() ?? []) {
      this.forget(waiter);
      waiter.reject?.(disposed());
    }
  }

  /**
   * Steps the cell with an action, about a permit where there is one.
   * @internal
   */
  perform(kind: number, outcome = 0, cost = 1, permit?: Held, now = this.clock.now()): number {
    const { engine } = this;
    // After dispose() there is nothing that a permit holds.
    if (permit && !this.common.handles.size) return 0;
    permit?.put(engine.words());
    this.barred = undefined;
    const verdict = engine.check(engine.x.step(this.handle, kind, outcome, cost, now));
    this.react();
    return verdict;
  }

  /**
   * Lets time pass.
   * @internal
   */
  wake(): void {
    const { engine, clock } = this;
    engine.check(engine.x.pass(this.handle, clock.now()));
    this.react();
  }

  /**
   * Removes a waiter from the queue.
   * @internal
   */
  leave(waiter: Waiter<P>): void {
    this.perform(ACTION_LEAVE, 0, 0, waiter.ticket);
    this.forget(waiter);
  }

  /** How many callers wait. */
  protected inQueue(): number {
    return this.waiters?.all().filter(({ resolve }) => resolve).length ?? 0;
  }

  /** Returns the refusal of the last step. */
  protected rejection(): Rejection {
    const { name } = this.common;
    return refusal(name, REASONS[this.engine.words()[SLOT_REASON] as number] as Reason, this.millis());
  }

  private millis(): number | undefined {
    const millis = this.engine.floats()[SLOT_MILLIS] as number;
    return millis < 0 ? undefined : millis;
  }

  /** Emits a decision to the listeners. `now` is when it was made, where that is known. */
  protected tell(
    kind: Decision['kind'],
    more?: Partial<Told> | Rejection,
    shadow?: boolean,
    now = NONE,
  ): void {
    const { emitter, clock, name } = this.common;
    if (!emitter.hears(kind)) return;
    const at = Number.isNaN(now) ? clock.now() : now;
    const { key } = this;
    const only = shadow || undefined;
    if (!more) {
      emitter.emit({ kind, at, step: name, key, shadow: only });
      return;
    }
    // Field by field: a spread takes some microseconds.
    const { reason, outcome, until, retryAfter, duration, error, state } = more as Partial<Told>;
    emitter.emit({
      kind,
      at,
      step: name,
      key,
      reason,
      outcome,
      until,
      retryAfter,
      duration,
      error,
      state,
      shadow: only,
    });
  }

  private admit(now: number): P {
    const words = this.engine.words();
    const pass = this.admitted(words);
    // An admission may change a breaker, too.
    if (this.queued || words[SLOT_COUNT]) this.react();
    this.tell('admit', undefined, undefined, now);
    return pass;
  }

  private refuse(verdict: number, now: number): P | Rejection {
    const { shadow, emitter } = this.common;
    if (verdict < 0) this.engine.check(verdict);
    const rejection = this.rejection();
    if (this.reacts) this.react();
    if (emitter.heard) this.tell('reject', rejection, shadow, now);
    return shadow ? this.admitted() : rejection;
  }

  private wait(caller: number, cost: number, signal?: AbortSignal): P | Promise<P | Rejection> {
    const { shadow, clock, wakes } = this.common;
    const waiters = this.waiters as Waiters<P>;
    const ticket = new Held(this.engine.words());
    const millis = this.millis();
    const waiter = new Waiter<P>(this, caller, ticket, cost, shadow ? undefined : signal);
    waiters.add(waiter);
    if (waiters.size === 1) this.held?.(true);
    const result = shadow
      ? this.admitted(undefined, 0, waiter)
      : new Promise<P | Rejection>((resolve, reject) => {
          waiter.resolve = resolve;
          waiter.reject = reject;
          waiter.guest = guests?.greet(wakes, this);
          wakes.hold(this, 1);
        });
    this.react();
    this.tell('wait', { until: millis === undefined ? millis : clock.now() + millis }, shadow);
    return result;
  }

  private forget(waiter: Waiter<P>): void {
    if (!this.waiters?.remove(waiter)) return;
    if (waiter.resolve) this.common.wakes.hold(this, -1);
    if (this.waiters.size === 0) this.held?.(false);
  }

  /** Processes the effects of a step on other callers, and the next wake. */
  protected react(): void {
    const { engine } = this;
    if (this.queued) this.common.wakes.set(this, engine.floats()[SLOT_WAKE_MILLIS] as number);
    const now = engine.words();
    if (now[SLOT_COUNT] === 0) return;
    // Listeners may call back, which leaves other records: read all, then act.
    const size = (now[SLOT_COUNT] as number) * RECORD_WORDS;
    const records = new Int32Array(now.buffer, now[SLOT_RECORDS], size).slice();
    for (let at = 0; at < size; at += RECORD_WORDS) {
      const caller = records[at + PERMIT_WORDS] as number;
      const what = records[at + PERMIT_WORDS + 1] as number;
      const kind = what & 0xff;
      const reason = REASONS[(what >> 8) & 0xff] as Reason;
      if (kind === EFFECT_LAPSE) this.tell('lapse');
      else if (kind === EFFECT_GRANT) this.grant(caller, records, at);
      else if (kind === EFFECT_DROP) this.drop(caller, reason);
      else this.changed?.(records[at + 2] as number, reason);
    }
  }

  private grant(caller: number, records: Int32Array, at: number): void {
    const waiter = this.waiters?.get(caller);
    if (!waiter) return;
    this.forget(waiter);
    if (waiter.resolve) {
      if (waiter.left) {
        this.refund(new Held(records, at), waiter.cost);
        return;
      }
      waiter.resolve(this.admitted(records, at));
      this.tell('admit');
    } else waiter.granted = new Held(records, at);
  }

  private drop(caller: number, reason: Reason): void {
    const waiter = this.waiters?.get(caller);
    if (!waiter) return;
    this.forget(waiter);
    const { name, shadow } = this.common;
    waiter.resolve?.(refusal(name, reason));
    this.tell('expire', { reason }, shadow);
  }
}
