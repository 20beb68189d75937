import {
  ACTION_PEEK,
  ACTION_TICK,
  BEGIN_NO_HEDGE,
  DECISION_ADMIT,
  DECISION_CHANGE,
  DECISION_END,
  DECISION_FAILED,
  DECISION_REJECT,
  DECISION_RETRY,
  FLAG_FALLBACK,
  FLAG_LAST,
  FLAG_SHADOW,
  FLAG_VALUE,
  KINDS,
  MODE_OPEN,
  MODES,
  NONE,
  OUTCOME_OK,
  OUTCOMES,
  REASONS,
  RECORD_ATTEMPT,
  RECORD_FLAGS,
  RECORD_GENERATION,
  RECORD_KIND,
  RECORD_MILLIS,
  RECORD_SIZE,
  RECORD_SLOT,
  RECORD_VALUE,
  SLOT_COUNT,
  SLOT_FREE,
  SLOT_GENERATION,
  SLOT_MILLIS,
  SLOT_MODE,
  SLOT_REASON,
  SLOT_RECORDS,
  SLOT_SLOT,
  SLOT_WAKE_MILLIS,
  STALE,
  VERDICT_ADMIT,
} from './abi.js';
import { Running } from './attempt.js';
import { Call, type PipelineCallOptions } from './call.js';
import { checkCost } from './cell.js';
import { checkCall, checkHooks, checkKey, checkNames, checkTask, wrongArgument } from './checks.js';
import { defaultClock } from './clock.js';
import { Emitter } from './emitter.js';
import { type Engine, engineOf, type InstanceOption, type Mechanism, own } from './engine.js';
import { disposed, refusal, rejected, success } from './errors.js';
import { HedgedCall } from './hedged-call.js';
import { join, Keys, valuesOf } from './keys.js';
import { numberOf } from './meaning.js';
import { Observable } from './observable.js';
import { HandCall, type PipelinePass } from './pass.js';
import {
  type Layout,
  type Plan,
  type PlanStep,
  readSource,
  type Source,
  stepName,
  type Text,
} from './plan.js';
import type { Policy, PolicyDocument, Step } from './policy.js';
import { mostOf, rateOf } from './rates.js';
import { type Snapshot, shift, taken } from './snapshot.js';
import { type Answer, PipelineStep } from './step.js';
import type {
  Classifier,
  Clock,
  Decision,
  Quota,
  Reason,
  Rejection,
  RetryAfterReader,
  Success,
  Task,
} from './types.js';
import { guests, NEVER, type Wake, type Wakes, wakesOf } from './wakes.js';

/** Functions that a pipeline calls with results. */
export interface ResultHooks extends Classifier, RetryAfterReader {
  /**
   * Returns the value of a call in place of a refusal or a failure, where the policy
   * has a `fallback`. Default: none; the call is refused or fails.
   */
  fallback?: ((error: unknown) => unknown) | undefined;
  /** Called with a value that no caller will see: of an attempt that is retried, or that came after its cut. */
  discard?: ((value: unknown) => unknown) | undefined;
  /** Gives a `RejectedError` a stack, which takes some microseconds. Default false. */
  stack?: boolean | undefined;
}

/** What a pipeline takes besides its policy. */
export interface PipelineOptions extends ResultHooks {
  /** The name of the policy, where the document has several. */
  name?: string | undefined;
  /** The clock. Default: the monotonic clock of the runtime. */
  clock?: Clock | undefined;
  /** Whose memory it uses. Default `shared`: that of all objects that name no other. */
  instance?: InstanceOption | undefined;
}

/** The names of the options of a pipeline and of its calls. */
const NAMES = ['name', 'clock', 'outcome', 'retryAfter', 'fallback', 'discard', 'stack', 'instance'];
const CALL_NAMES = ['signal', 'cost', 'key', 'attributes', 'deadline', 'hedge'];

/** How many pipelines of a plan without state are kept for later calls. */
const IDLE = 16;

/** The mechanisms that may refuse a call without another attempt of it. */
const GATES = ['breaker', 'limit', 'bulkhead', 'adaptive'];

/** Lets the end of a breaker's open time happen when it comes, for listeners. */
class Reopening implements Wake {
  due = NEVER;
  place = -1;
  waits = 0;
  unset = false;

  constructor(readonly wake: () => void) {}
}

/** The words of a record. */
const RECORD_WORDS = RECORD_SIZE / 4;

/** An active policy: its steps with their state. Make one with `pipeline` or `policy`. */
// Not `implements Runner, Wake`: what is internal is not in the declarations.
export class Pipeline extends Observable {
  /** @internal */
  due = NEVER;
  /** @internal */
  place = -1;
  /** @internal */
  waits = 0;
  /** @internal */
  unset = false;
  /** @internal */
  override readonly emitter = new Emitter(() => this.observe());
  private readonly engine: Engine;
  private readonly clock: Clock;
  private readonly wakes: Wakes;
  /** Its handle, 0 while it has none. */
  private handle = 0;
  /** Its handle, where it is its own and not one of the plan's. */
  private readonly handles = new Set<number>();
  private keys: Keys;
  private readonly live: (Call | undefined)[] = [];
  /** How many calls have begun and not ended. */
  private active = 0;
  private disposed = false;
  private stopped = false;
  /** Called when no call runs. */
  private idlers: (() => void)[] = [];
  /** Whether it takes a handle for the time of its calls. */
  private borrows: boolean;
  private text: Text;
  private plan: Plan;
  private layout: Layout;

  /**
   * `alone` is the mechanism, where the caller wrote no steps; `keyed` says that it has a cell for each key.
   * @internal
   */
  constructor(
    source: Source,
    private readonly options: PipelineOptions = {},
    private readonly alone?: Mechanism | 'timeout' | 'hedge',
    keyed = false,
  ) {
    super();
    this.engine = engineOf(options.instance);
    this.clock = options.clock ?? defaultClock;
    this.wakes = wakesOf(this.clock);
    this.text = readSource(this.engine, source, options.name, alone, keyed);
    this.plan = this.text.plan();
    const { layout, stateless } = this.plan;
    this.layout = { ...layout, policy: this.text.policy };
    // Virtual clocks have times of their own.
    this.borrows = stateless && this.clock === defaultClock;
    this.keys = new Keys(this.engine, 0);
    if (!this.borrows) this.keep();
  }

  /** Whether a first attempt that succeeds concerns no step. */
  private get lazy(): boolean {
    return this.alone === 'retry' && this.borrows;
  }

  /** Takes a handle where it has none. */
  private obtain(): void {
    if (this.disposed) throw disposed();
    if (this.handle) return;
    const { engine } = this;
    if (this.plan.dropped) this.plan = this.text.plan();
    const { handle, idle } = this.plan;
    const unused = this.borrows ? idle.pop() : undefined;
    this.handle = unused ?? engine.check(engine.x.pipeline(handle, random(), random()));
  }

  /** Returns the handle where no call needs it. */
  private rest(): void {
    const { handle } = this;
    if (this.active || !handle) return;
    if (this.borrows) {
      this.handle = 0;
      const { idle, dropped } = this.plan;
      if (!dropped && idle.length < IDLE) idle.push(handle);
      else this.engine.x.free(handle);
    } else if (this.disposed) {
      this.handle = 0;
      this.wakes.set(this, NEVER);
      this.engine.release(this.handles);
    }
  }

  /** Has a handle of its own from now on. */
  private keep(): void {
    this.obtain();
    this.borrows = false;
    if (this.handles.size) return;
    this.handles.add(this.handle);
    own(this, this.engine, this.handles);
    this.keys = new Keys(this.engine, this.handle);
    if (this.emitter.heard) this.engine.x.observe(this.handle, 1);
  }

  /** Has changes of breakers recorded exactly while there is a listener. */
  private observe(): void {
    if (!this.borrows && this.handle)
      this.engine.check(this.engine.x.observe(this.handle, this.emitter.heard ? 1 : 0));
  }

  /**
   * Frees its memory when its running calls have ended; later calls reject with a
   * `PolicyError`.
   */
  override dispose(): void {
    this.disposed = true;
    this.rest();
  }

  /** How many calls have begun and not ended; those that wait are among them. */
  get running(): number {
    return this.active;
  }

  /** Resolves as soon as no call runs. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.idlers.push(resolve);
      this.empty();
    });
  }

  /**
   * Refuses new calls with the reason `stopped`, and resolves when those that have begun have
   * ended. It is for the end of a process; the calls that run end as without it.
   */
  stop(): Promise<void> {
    this.stopped = true;
    return this.drain();
  }

  /** Calls those that wait for the end of all calls. */
  private empty(): void {
    if (this.active || !this.idlers.length) return;
    const all = this.idlers;
    this.idlers = [];
    for (const resolve of all) resolve();
  }

  /**
   * A step of the active policy by its name, to be watched and changed by hand. Throws
   * `PolicyError` for a name that the policy does not have, also later, after `configure`.
   */
  step(name: string): PipelineStep {
    this.locate(name);
    return new PipelineStep(this, name);
  }

  /**
   * What the enforced limits of the policy have left for a call, outermost first: for
   * headers and displays. It takes nothing. Inside the function of a call that is what the call left.
   */
  quotas(options?: PipelineCallOptions): Quota[] {
    if (options !== undefined) checkOptions(options);
    const quotas: Quota[] = [];
    this.layout.steps.forEach((step, index) => {
      const { name, mechanism, shadow } = step;
      if (mechanism !== 'limit' || shadow) return;
      const settings = (this.layout.policy.steps[index] as { limit: unknown }).limit;
      const limit = mostOf(settings);
      const key = this.keyOf(step, options);
      const one = this.ask(index, key, ACTION_PEEK);
      const all = this.ask(index, key, ACTION_PEEK, limit);
      const wait = ({ verdict, millis = 0 }: Answer): number => (verdict === VERDICT_ADMIT ? 0 : millis);
      const rate = rateOf(settings);
      quotas.push({ step: name, limit, remaining: one.free, next: wait(one), reset: wait(all), rate });
    });
    return quotas;
  }

  /** The key of a call at a step. */
  private keyOf({ per }: PlanStep, options: PipelineCallOptions | undefined): string {
    return join(valuesOf(per, options?.key, options?.attributes));
  }

  /**
   * The names of its steps.
   * @internal
   */
  get names(): readonly string[] {
    return this.layout.steps.map(({ name }) => name);
  }

  /** @internal */
  locate(name: string): { readonly index: number; readonly step: PlanStep } {
    const { steps } = this.layout;
    const index = steps.findIndex((step) => step.name === name);
    if (index < 0) wrongArgument('step', name, this.names.join(', '));
    return { index, step: steps[index] as PlanStep };
  }

  /** @internal */
  ask(index: number, key: string, kind: number, cost = 1): Answer {
    this.keep();
    const number = key && this.layout.steps[index]?.per.length ? this.keys.find(key) : 0;
    const { engine } = this;
    const verdict = engine.check(engine.x.ask(this.handle, index, number, kind, cost, this.now()));
    const now = engine.words();
    const millis = engine.floats()[SLOT_MILLIS] as number;
    const answer = {
      verdict,
      free: now[SLOT_FREE] as number,
      reason: now[SLOT_REASON] as number,
      millis: millis < 0 ? undefined : millis,
      mode: now[SLOT_MODE] as number,
    };
    this.settle(now[SLOT_COUNT] as number);
    return answer;
  }

  /** @internal */
  evict(index: number, key: string): boolean {
    this.keep();
    return this.engine.check(this.engine.x.evict(this.handle, index, this.keys.find(key))) > 0;
  }

  /** @internal */
  keysOf(index: number): string[] {
    if (!this.layout.steps[index]?.per.length) return [];
    this.keep();
    const has = ([, number]: [string, number]): boolean =>
      this.engine.x.ask(this.handle, index, number, ACTION_TICK, 0, NONE) > 0;
    return this.keys
      .known()
      .filter(has)
      .map(([key]) => key);
  }

  /** @internal */
  waiting(index: number, key: string): number {
    let count = 0;
    for (const call of this.live) {
      if (!call?.queues) continue;
      const step = call.layout.steps[index];
      if (!step || (step.per.length && this.keyOf(step, call.options) !== key)) continue;
      for (const at of call.queues.values()) if (at === index) count++;
    }
    return count;
  }

  /** @internal */
  places(index: number): number | undefined {
    const { bulkhead } = this.layout.policy.steps[index] as { bulkhead: number | { concurrent: number } };
    return typeof bulkhead === 'number' ? bulkhead : bulkhead.concurrent;
  }

  protected override shown(): [string, object] {
    return ['Pipeline', { steps: this.names, running: this.active }];
  }

  private now(): number {
    return this.clock.now();
  }

  /** The active policy, as it was written. */
  get policy(): Policy {
    return this.layout.policy;
  }

  /**
   * Runs the function under the policy. Throws `RejectedError` when the policy
   * refuses, `TimeoutError` when a timeout cuts the call, and what the last attempt
   * threw when it fails. An aborted signal cancels the call and rejects with its reason.
   */
  execute<T>(task: Task<T>, options?: PipelineCallOptions): Promise<T> {
    return this.run(task, options, false, this.options) as Promise<T>;
  }

  /** Like `execute`, but a refusal or a cut is a value. What the function throws is thrown. */
  attempt<T>(task: Task<T>, options?: PipelineCallOptions): Promise<Success<T> | Rejection> {
    return this.run(task, options, true, this.options) as Promise<Success<T> | Rejection>;
  }

  /**
   * Begins a call whose one attempt the caller makes itself, if all steps admit it now. It never
   * waits. No further attempt follows a failure; timeouts abort the signal of the pass.
   * Throws the reason of an aborted signal.
   */
  tryAcquire(options?: PipelineCallOptions): PipelinePass | Rejection {
    if (options !== undefined) checkOptions(options);
    if (options?.signal?.aborted) throw options.signal.reason;
    const refused = this.stopped ? this.late(options) : this.refusing(options);
    if (refused) return refused;
    let verdict: PipelinePass | Rejection | undefined;
    const call = this.byHand(
      options,
      (given) => {
        verdict = given;
      },
      () => {},
    );
    if (verdict) return verdict;
    // A step whose key is missing, which was not asked.
    this.giveUp(call);
    return refusal(call.queuedAt(), 'wait');
  }

  /** Like `tryAcquire`, but waits at the steps as long as the policy allows. An aborted signal rejects. */
  acquire(options?: PipelineCallOptions): Promise<PipelinePass | Rejection> {
    return new Promise((resolve, reject) => {
      if (options !== undefined) checkOptions(options);
      if (options?.signal?.aborted) reject(options.signal.reason);
      else if (this.stopped) resolve(this.late(options));
      else this.byHand(options, resolve, reject);
    });
  }

  /** Refuses a call after `stop()`. */
  private late(options: PipelineCallOptions | undefined): Rejection {
    return this.refused(STOPPED, options);
  }

  /** Emits a refusal that the module does not know. */
  private refused(rejection: Rejection, options: PipelineCallOptions | undefined): Rejection {
    if (this.emitter.hears('reject')) {
      const { step, reason, retryAfter } = rejection;
      this.emitter.emit({ kind: 'reject', at: this.now(), step, key: options?.key, reason, retryAfter });
    }
    return rejection;
  }

  private byHand(
    options: PipelineCallOptions | undefined,
    answer: (verdict: PipelinePass | Rejection) => void,
    reject: (reason: unknown) => void,
  ): HandCall {
    checkCost(options?.cost);
    this.obtain();
    const call = new HandCall(this, this.layout, options, this.options.stack, answer, reject);
    this.enter(call, options, BEGIN_NO_HEDGE);
    // What was decided now happens now, also where each request has a timer of its own.
    call.guest?.drain();
    return call;
  }

  /** What refuses a call that may not wait, where a step would have it wait. */
  private refusing(options: PipelineCallOptions | undefined): Rejection | undefined {
    const cost = checkCost(options?.cost);
    const { steps, policy } = this.layout;
    if (!policy.steps.some(queues)) return undefined;
    for (const [index, step] of steps.entries()) {
      if (step.shadow || !GATES.includes(step.mechanism)) continue;
      if (valuesOf(step.per, options?.key, options?.attributes).includes('')) continue;
      const key = this.keyOf(step, options);
      const { verdict, reason, millis } = this.ask(index, key, ACTION_PEEK, cost);
      if (verdict === VERDICT_ADMIT) continue;
      return this.refused(refusal(step.name, REASONS[reason] as Reason, millis), options);
    }
    return undefined;
  }

  /**
   * Replaces the active policy. Steps keep their state by name; running calls keep
   * their policy. Throws `PolicyError` and changes nothing where the new one is wrong.
   */
  configure(source: Source): void {
    this.keep();
    const text = readSource(this.engine, source, this.options.name);
    const plan = text.plan();
    const { handle, layout } = plan;
    const { engine } = this;
    const count = engine.check(engine.x.configure(this.handle, handle, this.now()));
    this.text = text;
    this.plan = plan;
    this.layout = { ...layout, policy: text.policy };
    this.settle(count);
  }

  /** The states of limiters, breakers and budgets as a plain value, for any storage. */
  snapshot(): Snapshot {
    const { engine } = this;
    const steps: Record<string, string | Record<string, string>> = {};
    this.keep();
    this.layout.steps.forEach(({ name, mechanism, per }, i) => {
      // Places and their holders belong to this process.
      if (mechanism === 'bulkhead') return;
      const keys: [string, number][] = per.length ? this.keys.known() : [['', 0]];
      const saved = keys
        .map(([key, number]) => [key, engine.stateText(engine.x.save(this.handle, i, number))] as const)
        .filter(([, state]) => state);
      if (per.length) steps[name] = Object.fromEntries(saved);
      else if (saved[0]) steps[name] = saved[0][1];
    });
    return taken(this.clock, steps);
  }

  /**
   * Restores the states of another process: the wall time since then counts as
   * passed. Returns the names of the steps for which it found a state. It is for the
   * start of a process; throws `PolicyError` for a value that is not a snapshot.
   */
  restore(snapshot: Snapshot): string[] {
    const { engine, clock } = this;
    const by = shift(clock, snapshot);
    this.keep();
    const found = new Set<string>();
    this.layout.steps.forEach(({ name, mechanism, per }, i) => {
      const saved = snapshot.steps[name] ?? {};
      const one = typeof saved === 'string';
      if (mechanism === 'bulkhead' || one === per.length > 0) return;
      for (const [key, state] of Object.entries(one ? { '': saved } : saved)) {
        const size = engine.putState(state);
        const count = engine.x.load(this.handle, i, this.keys.number(key), size, by, clock.now());
        if (!engine.accepted(count)) continue;
        found.add(name);
        this.settle(count);
      }
    });
    return [...found];
  }

  /**
   * Runs a function under given hooks.
   * @internal
   */
  run<T>(
    task: Task<T>,
    options: PipelineCallOptions | undefined,
    asValue: boolean,
    hooks: ResultHooks,
  ): Promise<unknown> {
    return this.lazy && !options && !this.emitter.heard && !this.stopped
      ? this.first(task, asValue, hooks)
      : this.launch(task, options, asValue, hooks);
  }

  /** Runs the first attempt, and begins the call in the module where more attempts may follow. */
  private async first<T>(task: Task<T>, asValue: boolean, hooks: ResultHooks): Promise<unknown> {
    checkTask(task);
    let again: Task<T>;
    this.active++;
    try {
      const value = await task(new Running(1));
      if (numberOf(hooks.outcome, false, undefined, value) === OUTCOME_OK) {
        return success(asValue, value);
      }
      again = () => value;
    } catch (error) {
      again = () => {
        throw error;
      };
    } finally {
      this.active--;
      this.rest();
      this.empty();
    }
    return this.launch((a) => (a.attempt > 1 ? task : again)(a), undefined, asValue, hooks);
  }

  private launch<T>(
    task: Task<T>,
    options: PipelineCallOptions | undefined,
    asValue: boolean,
    hooks: ResultHooks,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      checkTask(task);
      if (options !== undefined) checkOptions(options);
      const signal = options?.signal;
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      checkCost(options?.cost);
      if (this.stopped) {
        const refused = this.late(options);
        if (asValue) resolve(refused);
        else reject(rejected(refused, undefined, this.options.stack));
        return;
      }
      this.obtain();
      const kind = this.layout.hedge < 0 ? Call : HedgedCall;
      const call = new kind(this, this.layout, task, options, asValue, hooks, resolve, reject);
      this.enter(call, options, options?.hedge === false ? BEGIN_NO_HEDGE : 0);
    });
  }

  /** Begins a call. */
  private enter(call: Call, options: PipelineCallOptions | undefined, flags: number): void {
    if (this.layout.keyed.length) this.keys.put(this.layout, options?.key, options?.attributes);
    call.guest = guests?.greet(this.wakes, this);
    this.active++;
    this.wakes.hold(this, 1);
    options?.signal?.addEventListener('abort', call);
    const now = this.now();
    call.began = now;
    this.settle(
      this.engine.x.begin(this.handle, options?.cost ?? 1, flags, options?.deadline ?? NONE, now),
      call,
      now,
    );
  }

  /** @internal */
  finish(call: Call, attempt: number, outcome: number, after: number): boolean {
    const { slot, generation } = call;
    const now = this.now();
    const count = this.engine.x.done(this.handle, slot, generation, attempt, outcome, after, now);
    return this.settle(count, undefined, now);
  }

  /** @internal */
  giveUp(call: Call): void {
    this.settle(this.engine.x.cancel(this.handle, call.slot, call.generation, this.now()));
  }

  /** @internal */
  prolong(call: Call, attempt: number): void {
    this.settle(this.engine.x.renew(this.handle, call.slot, call.generation, attempt, this.now()));
  }

  /** @internal */
  wake(): void {
    this.settle(this.engine.x.advance(this.handle, this.now()));
  }

  /**
   * Performs the decisions of one call into the module; `begun` is the call that began
   * in it. Returns false where the event was stale: the records then have only what
   * had become due before it.
   */
  private settle(count: number, begun?: Call, at?: number): boolean {
    if (count < 0 && count !== STALE) {
      if (begun) this.settled(begun);
      this.engine.check(count);
    }
    const { engine } = this;
    const now = engine.words();
    if (begun) {
      begun.slot = now[SLOT_SLOT] as number;
      begun.generation = now[SLOT_GENERATION] as number;
    }
    this.wakes.set(this, engine.floats()[SLOT_WAKE_MILLIS] as number, at);
    const all = now[SLOT_COUNT] as number;
    if (all === 0) return count !== STALE;
    const { heard } = this.emitter;
    const first = (now[SLOT_RECORDS] as number) >> 2;
    if (all === 1) {
      // It is read before anything is done.
      const records = engine.memory();
      const call = this.callOf(records, first, begun);
      if (heard || !call || !this.proceed(call, records, first)) this.act(records, first, call, heard);
      this.rest();
      return count !== STALE;
    }
    // Performing a decision, or its listeners, may call the module again.
    const records = engine.memory().slice(first, first + all * RECORD_WORDS);
    const calls = [];
    for (let i = 0; i < all; i++) calls.push(this.callOf(records, i * RECORD_WORDS, begun));
    for (let i = 0; i < all; i++) this.act(records, i * RECORD_WORDS, calls[i], heard);
    this.rest();
    return count !== STALE;
  }

  /** Performs what happens to most calls: an admission and the end. False for anything else. */
  private proceed(call: Call, records: Int32Array, i: number): boolean {
    if (call.guest) return false;
    const bits = records[i + RECORD_KIND / 4] as number;
    const flags = (records[i + RECORD_FLAGS / 4] as number) & 0xff;
    const kind = bits & 0xff;
    if (kind === DECISION_ADMIT && flags === 0) {
      call.admit(records[i + RECORD_ATTEMPT / 4] as number);
      return true;
    }
    if (kind !== DECISION_END || (flags & ~FLAG_FALLBACK) !== FLAG_LAST) return false;
    this.live[call.slot] = undefined;
    this.settled(call);
    call.finished((bits >> 8) & 0xff, flags !== FLAG_LAST);
    return true;
  }

  /** A breaker has changed its state, which concerns no call. */
  private changed(step: number, records: Int32Array, i: number): void {
    const at = markOf(records, i);
    const number = records[i + RECORD_SLOT / 4] as number;
    const reason = REASONS[((records[i + RECORD_KIND / 4] as number) >> 16) & 0xff] as Reason;
    const mode = records[i + RECORD_VALUE / 4] as number;
    const { name, shadow } = this.layout.steps[step] ?? {};
    const key = this.keys.text(number) || undefined;
    this.emitter.emit({
      kind: 'change',
      at,
      step: name,
      key,
      reason: reason || undefined,
      state: MODES[mode],
      shadow: shadow || undefined,
    });
    if (mode === MODE_OPEN) this.reopen(step, name as string, key ?? '');
  }

  /** Lets an open breaker become half-open when its time comes; without a listener the next call does that. */
  private reopen(step: number, name: string, key: string): void {
    if (!this.emitter.heard || this.disposed || this.layout.steps[step]?.name !== name) return;
    if (this.ask(step, key, ACTION_TICK).mode !== MODE_OPEN) return;
    const { millis } = this.ask(step, key, ACTION_PEEK);
    if (millis === undefined) return;
    const reopening = new Reopening(() => this.reopen(step, name, key));
    this.wakes.set(reopening, this.now() + millis);
  }

  /** A call has ended. */
  private settled(call: Call): void {
    call.detach();
    this.active--;
    this.wakes.hold(this, -1);
    this.empty();
  }

  // A slot may be that of a call which ends before the one that begins there.
  private callOf(records: Int32Array, i: number, begun: Call | undefined): Call | undefined {
    const slot = records[i + RECORD_SLOT / 4] as number;
    const generation = records[i + RECORD_GENERATION / 4] as number;
    if (begun?.slot === slot && begun.generation === generation) this.live[slot] = begun;
    const call = this.live[slot];
    return call?.generation === generation ? call : undefined;
  }

  private act(records: Int32Array, i: number, call: Call | undefined, heard: boolean): void {
    const bits = records[i + RECORD_KIND / 4] as number;
    const kind = bits & 0xff;
    const outcome = (bits >> 8) & 0xff;
    const reason = REASONS[(bits >> 16) & 0xff] as Reason;
    const flags = (records[i + RECORD_FLAGS / 4] as number) & 0xff;
    const attempt = records[i + RECORD_ATTEMPT / 4] as number;
    const step = bits >>> 24;
    const value = flags & FLAG_VALUE ? amountOf(kind, records, i) : undefined;
    const covered = !!(flags & FLAG_FALLBACK);
    const shadow = !!(flags & FLAG_SHADOW);
    if (kind === DECISION_CHANGE) {
      this.changed(step, records, i);
      return;
    }
    if (heard && this.emitter.hears(KINDS[kind] as Decision['kind'])) {
      const at = markOf(records, i);
      const ends = kind === DECISION_END;
      const again = kind === DECISION_RETRY;
      this.emitter.emit({
        kind: KINDS[kind] as Decision['kind'],
        at,
        step: call && stepName(call.layout, step),
        key: call?.options?.key,
        attempt: attempt || undefined,
        reason: reason || undefined,
        outcome: (OUTCOMES[outcome] as 'ok') || undefined,
        until: ends || kind === DECISION_REJECT ? undefined : value,
        delay: again && value !== undefined ? value - at : undefined,
        won: ends ? value : undefined,
        retryAfter: kind === DECISION_REJECT ? value : undefined,
        duration: ends && call ? at - call.began : undefined,
        error: (ends || again || kind === DECISION_FAILED) && call ? call.errorOf(attempt) : undefined,
        shadow: shadow || undefined,
        fallback: covered || undefined,
      });
    }
    if (!call) return;
    if (flags & FLAG_LAST) {
      if (this.live[call.slot] === call) this.live[call.slot] = undefined;
      this.settled(call);
    }
    if (call.guest) {
      call.guest.post(call.follow.bind(call, kind, attempt, outcome, step, reason, value, covered, shadow));
    } else call.follow(kind, attempt, outcome, step, reason, value, covered, shadow);
  }
}

/** The mark of a record in milliseconds. */
const markOf = (words: Int32Array, i: number): number =>
  ((words[i + 1] as number) * 2 ** 32 + ((words[i] as number) >>> 0)) / 1e6;

/** The answer to a call after `stop()`. */
const STOPPED: Rejection = Object.freeze(refusal('pipeline', 'stopped'));

/** Whether calls may wait at a step. */
const queues = (step: Step): boolean => {
  const { limit, bulkhead } = step as {
    limit?: { wait?: unknown };
    bulkhead?: { queue?: number; wait?: unknown };
  };
  return (limit?.wait ?? bulkhead?.queue ?? bulkhead?.wait) !== undefined;
};

/** The attempt that won, of an end; else milliseconds. */
const amountOf = (kind: number, words: Int32Array, i: number): number =>
  kind === DECISION_END
    ? (words[i + RECORD_VALUE / 4] as number)
    : (new Float64Array(words.buffer, words.byteOffset + i * 4 + RECORD_MILLIS, 1)[0] as number);

function checkOptions(options: PipelineCallOptions): void {
  checkCall(options, CALL_NAMES);
  const { key, attributes, deadline, hedge } = options;
  if (key !== undefined) checkKey(key);
  if (attributes !== undefined && (!attributes || !/^(ob|fu)/.test(typeof attributes))) {
    wrongArgument('attributes', attributes, 'an object or a function');
  }
  if (deadline !== undefined && (typeof deadline !== 'number' || Number.isNaN(deadline))) {
    wrongArgument('deadline', deadline, 'a number of milliseconds');
  }
  if (hedge !== undefined && typeof hedge !== 'boolean') wrongArgument('hedge', hedge, 'true or false');
}

const random = (): number => (Math.random() * 2 ** 32) >>> 0;

/**
 * A pipeline of steps, outermost first. Every attempt passes the steps below a retry
 * again. Throws `PolicyError` for wrong steps.
 *
 * @example
 * const vendor = pipeline([{ timeout: '30s' }, { retry: 3 }, { breaker: {} }, { timeout: '10s' }]);
 * const answer = await vendor.execute(({ signal }) => fetch(url, { signal }));
 */
export const pipeline = (steps: readonly Step[], options?: PipelineOptions): Pipeline =>
  new Pipeline(steps, checked('pipeline', options));

/**
 * A policy of a document, or of the body of one policy; either may be JSON, as a text
 * or its bytes. The name, or `name` of the options, chooses where the document has
 * several policies. Throws `PolicyError` for a wrong document, with all that is wrong,
 * and the lines and columns in a text.
 */
export const policy = (
  document: PolicyDocument | Policy | string | Uint8Array,
  name?: string | PipelineOptions,
): Pipeline => new Pipeline(document, typeof name === 'string' ? { name } : checked('policy', name));

/** Options of a pipeline, whose names and functions are checked. */
function checked(path: string, options: PipelineOptions = {}): PipelineOptions {
  if (Object(options) !== options || typeof options === 'function') {
    wrongArgument(path, options, `an object with ${NAMES.join(', ')}`);
  }
  checkNames(path, options, NAMES);
  checkHooks(path, options);
  if (options.name !== undefined && typeof options.name !== 'string') {
    wrongArgument(`${path}.name`, options.name, 'a string');
  }
  return options;
}
