import { checkCost, checkTask } from '../base/checks.js';
import { defaultClock } from '../base/clock.js';
import { Emitter } from '../base/emitter.js';
import { refusal, rejected, success } from '../base/errors.js';
import type { Clock, Rejection, Task } from '../base/types.js';
import { guests, NEVER, type Wake, type Wakes, wakesOf } from '../base/wakes.js';
import type { Engine } from '../engine/engine.js';
import {
  ACTION_DRAIN,
  ACTION_PEEK,
  ACTION_TICK,
  BEGIN_NO_HEDGE,
  DECISION_ADMIT,
  DECISION_CHANGE,
  DECISION_END,
  DONE_KEEPS,
  FLAG_FALLBACK,
  FLAG_LAST,
  MODE_OPEN,
  NONE,
  OUTCOME_OK,
  RECORD_ATTEMPT,
  RECORD_FLAGS,
  RECORD_GENERATION,
  RECORD_KIND,
  RECORD_SLOT,
  SLOT_COUNT,
  SLOT_FREE,
  SLOT_GENERATION,
  SLOT_MILLIS,
  SLOT_MODE,
  SLOT_REASON,
  SLOT_RECORDS,
  SLOT_SLOT,
  SLOT_STEP,
  SLOT_WAKE_MILLIS,
  STALE,
} from '../generated/abi.js';
import { Running } from './attempt.js';
import { Call, type Runner } from './call.js';
import { checkCallOptions, type PipelineCallOptions } from './call-options.js';
import { putConditions, skippedBy } from './conditions.js';
import { putCosts, putUsed } from './costs.js';
import { PipelineHandle } from './handle.js';
import { HedgedCall } from './hedged-call.js';
import type { Holder, Kept } from './kept.js';
import { numberOf } from './meaning.js';
import type { Hooks } from './options.js';
import { HandCall, type Lender, type PipelinePass } from './pass.js';
import { type Layout, stepName, type Text } from './plan.js';
import type { Recording } from './recording.js';
import { DecisionRecord, RECORD_WORDS } from './records.js';
import { Softs } from './softs.js';
import type { Answer } from './step.js';

/** Lets the end of a breaker's open time happen when it comes, for listeners. */
class Reopening implements Wake {
  due = NEVER;
  place = -1;
  waits = 0;
  unset = false;

  constructor(readonly wake: () => void) {}
}

/** The answer to a call after `stop()`. */
const STOPPED: Rejection = Object.freeze(refusal('pipeline', 'stopped'));

/** The layout of a source that was read. */
const layoutOf = (text: Text): Layout => ({ ...text.plan().layout, policy: text.policy });

/** Runs calls under the active plan: it passes what happens to the module, and performs the decisions. */
export class Driver implements Runner, Wake {
  due = NEVER;
  place = -1;
  waits = 0;
  unset = false;
  /** How many calls have begun and not ended. */
  active = 0;
  /** How many calls that have ended keep places. */
  private keepers = 0;
  /** Refuses new calls. */
  stopped = false;
  layout: Layout;
  readonly handle: PipelineHandle;
  readonly emitter: Emitter;
  private readonly wakes: Wakes;
  /** The calls of all drivers that share mechanisms, by their slots. */
  private readonly live: (Call | undefined)[];
  /** The driver beside which this one and others were made: their time is one, and it wakes all of them. */
  private readonly lead: Driver;
  /** Of the lead: all of them, in the order in which they were made. */
  private readonly members: Driver[] = [];
  /** Called when no call runs. */
  private idlers: (() => void)[] = [];

  /**
   * `retries` says that the plan is one retry, so that a first attempt that succeeds concerns no step. `beside` is the
   * driver of another policy with which it shares mechanisms; `shares` says that there are such ones. `recording` records
   * its calls, with an engine of its own.
   */
  constructor(
    readonly engine: Engine,
    readonly clock: Clock,
    text: Text,
    private readonly retries: boolean,
    private readonly stack: boolean | undefined,
    shares = false,
    beside?: Driver,
    readonly recording?: Recording,
  ) {
    this.lead = beside ?? this;
    this.live = beside?.live ?? [];
    this.lead.members.push(this);
    this.emitter = new Emitter(() => this.observe());
    this.wakes = wakesOf(clock);
    this.layout = layoutOf(text);
    // Virtual clocks have times of their own.
    const borrows = !shares && !recording && text.plan().stateless && clock === defaultClock;
    this.handle = new PipelineHandle(engine, text, borrows, beside?.handle);
    if (!this.handle.borrows) this.keep();
  }

  now(): number {
    return this.clock.now();
  }

  /** Has a handle of its own from now on. */
  keep(): void {
    if (this.handle.keep() && this.emitter.heard) this.observe();
  }

  /** Has changes of breakers recorded exactly while there is a listener. */
  private observe(): void {
    const { engine, handle } = this;
    const heard = this.lead.members.some(({ emitter }) => emitter?.heard);
    if (!handle.borrows && handle.value) engine.check(engine.x.observe(handle.value, heard ? 1 : 0));
  }

  /** Frees the memory when the running calls have ended. */
  dispose(): void {
    this.handle.disposed = true;
    this.rest();
  }

  /** Returns or frees the handle where no call needs it. */
  private rest(): void {
    if (this.active > 0 || this.keepers > 0 || !this.unused() || !this.handle.rest()) return;
    const { lead } = this;
    if (lead === this) {
      this.wakes.set(this, NEVER);
      return;
    }
    lead.members.splice(lead.members.indexOf(this), 1);
    lead.rest();
  }

  /** Whether no other driver needs this one, which has the keys and the time of those that were made beside it. */
  private unused(): boolean {
    return this.members.every((one) => one === this || one.handle.value === 0);
  }

  /** Resolves as soon as no call runs. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.idlers.push(resolve);
      this.empty();
    });
  }

  /** Calls those that wait for the end of all calls. */
  private empty(): void {
    if (this.active || !this.idlers.length) return;
    const all = this.idlers;
    this.idlers = [];
    for (const resolve of all) resolve();
  }

  /** Activates another plan. */
  configure(text: Text): void {
    this.keep();
    this.recording?.changes(text.policy);
    const count = this.handle.configure(text, this.now());
    this.layout = layoutOf(text);
    this.settle(count);
  }

  /** Does something at the cell of a step, and says what that answers. */
  ask(index: number, key: string, kind: number, cost = 1): Answer {
    this.keep();
    const { engine, handle } = this;
    const keyed = key && this.layout.steps[index]?.per.length;
    // A drain makes the cell of a key that has none.
    const number = !keyed ? 0 : kind === ACTION_DRAIN ? handle.keys.number(key) : handle.keys.find(key);
    const verdict = engine.check(engine.x.ask(handle.value, index, number, kind, cost, this.now()));
    const words = engine.words();
    const millis = engine.floats()[SLOT_MILLIS] as number;
    const answer = {
      verdict,
      free: words[SLOT_FREE] as number,
      reason: words[SLOT_REASON] as number,
      millis: millis < 0 ? undefined : millis,
      mode: words[SLOT_MODE] as number,
    };
    this.settle(words[SLOT_COUNT] as number);
    return answer;
  }

  /** The calls that have begun and not ended. */
  calls(): Call[] {
    return this.live.filter((call) => call?.runner === this) as Call[];
  }

  /** Whether calls begin in the module after their first attempt. */
  get late(): boolean {
    return this.retries;
  }

  /** Runs a function under the plan. */
  run<T>(
    task: Task<T>,
    options: PipelineCallOptions | undefined,
    asValue: boolean,
    hooks: Hooks,
  ): Promise<unknown> {
    const lazy = this.retries && this.handle.borrows;
    return lazy && !options && !this.emitter.heard && !this.stopped
      ? this.first(task, asValue, hooks)
      : this.launch(task, options, asValue, hooks);
  }

  /** Runs the first attempt, and begins the call in the module where more attempts may follow. */
  private async first<T>(task: Task<T>, asValue: boolean, hooks: Hooks): Promise<unknown> {
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
    hooks: Hooks,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (typeof task !== 'function') checkTask(task);
      if (options !== undefined) {
        checkCallOptions(options);
        if (options.signal?.aborted) {
          reject(options.signal.reason);
          return;
        }
        checkCost(options.cost);
      }
      if (this.stopped) {
        const refused = this.refuseStopped(options);
        if (asValue) resolve(refused);
        else reject(rejected(refused, undefined, this.stack));
        return;
      }
      const { layout, handle } = this;
      if (handle.value === 0 || handle.disposed) handle.obtain();
      const call =
        layout.hedge < 0
          ? new Call(this, layout, task, options, asValue, hooks, resolve, reject)
          : new HedgedCall(this, layout, task, options, asValue, hooks, resolve, reject);
      this.begin(call, options, options?.hedge === false ? BEGIN_NO_HEDGE : 0);
    });
  }

  /** Begins a call whose only attempt the caller makes itself. */
  byHand(
    lender: Lender,
    options: PipelineCallOptions | undefined,
    answer: (verdict: PipelinePass | Rejection) => void,
    reject: (reason: unknown) => void,
  ): HandCall {
    checkCost(options?.cost);
    this.handle.obtain();
    const call = new HandCall(this, lender, this.layout, options, this.stack, answer, reject);
    this.begin(call, options, BEGIN_NO_HEDGE);
    // What was decided now happens now, also where each request has a timer of its own.
    call.guest?.drain();
    return call;
  }

  /** Refuses a call after `stop()`. */
  refuseStopped(options: PipelineCallOptions | undefined): Rejection {
    return this.refuse(STOPPED, options);
  }

  /** Emits a refusal that the module does not know. */
  refuse(rejection: Rejection, options: PipelineCallOptions | undefined): Rejection {
    if (this.emitter.hears('reject')) {
      const { step, reason, retryAfter } = rejection;
      this.emitter.emit({ kind: 'reject', at: this.now(), step, key: options?.key, reason, retryAfter });
    }
    return rejection;
  }

  private begin(call: Call, options: PipelineCallOptions | undefined, flags: number): void {
    const { engine, layout } = this;
    let cost = 1;
    let deadline = NONE;
    if (layout.keyed.length) this.handle.keys.put(layout, options?.key, options?.attributes);
    if (layout.priced.length) putCosts(engine, layout, options?.attributes);
    if (layout.conditions) putConditions(engine, layout.conditions, options?.key, options?.attributes);
    if (guests) call.guest = guests.greet(this.wakes, this.lead);
    if (options !== undefined) {
      cost = options.cost ?? 1;
      deadline = options.deadline ?? NONE;
      options.signal?.addEventListener('abort', call);
    }
    if (layout.softs !== undefined && this.emitter.hears('timeout')) this.soften(call, options);
    this.active++;
    const { lead } = this;
    if (lead.due === NEVER) lead.waits++;
    else this.wakes.hold(lead, 1);
    const now = this.clock.now();
    call.began = now;
    if (this.recording !== undefined) this.recording.begins(layout, options);
    const count = engine.x.begin(this.handle.value, cost, flags, deadline, now);
    if (count < 0) {
      this.ended(call);
      engine.check(count);
    }
    const words = engine.words();
    const slot = words[SLOT_SLOT] as number;
    call.slot = slot;
    call.generation = words[SLOT_GENERATION] as number;
    // What happens to most calls, in as few calls of functions as possible: the attempt starts.
    if (count === 1 && !this.emitter.admits && call.guest === undefined && call.softs === undefined) {
      const memory = engine.memory();
      const i = (words[SLOT_RECORDS] as number) >> 2;
      if (
        ((memory[i + RECORD_KIND / 4] as number) & 0xff) === DECISION_ADMIT &&
        ((memory[i + RECORD_FLAGS / 4] as number) & 0xff) === 0 &&
        memory[i + RECORD_SLOT / 4] === slot &&
        memory[i + RECORD_GENERATION / 4] === call.generation
      ) {
        const due = engine.floats()[SLOT_WAKE_MILLIS] as number;
        if (due !== lead.due) this.wakes.set(lead, due, now);
        this.live[slot] = call;
        call.start(memory[i + RECORD_ATTEMPT / 4] as number);
        return;
      }
    }
    this.settle(count, now, call);
  }

  finish(call: Call, attempt: number, outcome: number, after: number, used?: number, kept?: Kept): boolean {
    const { engine } = this;
    if (used !== undefined) putUsed(engine, used);
    const { slot, generation } = call;
    const now = this.clock.now();
    const bits = kept ? outcome | DONE_KEEPS : outcome;
    const count = engine.x.done(this.handle.value, slot, generation, attempt, bits, after, now);
    if (kept && count >= 0) this.keepOf(call, kept, now);
    // What happens to most calls: this one ends.
    if (count === 1 && call.guest === undefined) {
      const memory = engine.memory();
      const i = (engine.words()[SLOT_RECORDS] as number) >> 2;
      const kind = memory[i + RECORD_KIND / 4] as number;
      const flags = (memory[i + RECORD_FLAGS / 4] as number) & 0xff;
      if (
        (kind & 0xff) === DECISION_END &&
        (flags & ~FLAG_FALLBACK) === FLAG_LAST &&
        memory[i + RECORD_SLOT / 4] === slot &&
        memory[i + RECORD_GENERATION / 4] === generation
      ) {
        const due = engine.floats()[SLOT_WAKE_MILLIS] as number;
        if (due !== this.lead.due) this.wakes.set(this.lead, due, now);
        this.live[slot] = undefined;
        if (this.emitter.ends) this.emitter.emit(new DecisionRecord(engine, i).told(call));
        this.ended(call);
        call.finished((kind >> 8) & 0xff, flags !== FLAG_LAST);
        if (this.active === 0) this.rest();
        return true;
      }
    }
    return this.settle(count, now);
  }

  /** Reads what the module says that a call keeps. */
  private keepOf(call: Call, kept: Kept, now: number): void {
    const { engine } = this;
    const words = engine.words();
    const millis = engine.floats()[SLOT_MILLIS] as number;
    kept.places = words[SLOT_FREE] as number;
    if (millis >= 0) {
      kept.cutAt = now + millis;
      kept.step = stepName(call.layout, words[SLOT_STEP] as number) as string;
    }
    if (kept.places) this.keepers++;
  }

  letGo(call: Holder): void {
    this.keepers--;
    this.giveUp(call);
    this.rest();
  }

  giveUp(call: Holder): void {
    this.settle(this.engine.x.cancel(this.handle.value, call.slot, call.generation, this.now()));
  }

  prolong(call: Call, attempt: number): void {
    this.settle(this.engine.x.renew(this.handle.value, call.slot, call.generation, attempt, this.now()));
  }

  wake(): void {
    this.settle(this.engine.x.advance(this.handle.value, this.now()));
  }

  /**
   * Performs the decisions of one call into the module; `begun` is the call that began
   * in it, `now` the present time where it is known. Returns false where the event was
   * stale: the records then have only what had become due before it.
   */
  settle(count: number, now?: number, begun?: Call): boolean {
    const { engine } = this;
    if (count < 0 && count !== STALE) engine.check(count);
    const words = engine.words();
    const due = engine.floats()[SLOT_WAKE_MILLIS] as number;
    if (due !== this.lead.due) this.wakes.set(this.lead, due, now);
    if (words[SLOT_COUNT]) this.perform(words, begun);
    return count !== STALE;
  }

  /** Performs all decisions. That, or their listeners, may call the module again: they are read before. */
  private perform(words: Int32Array, begun: Call | undefined): void {
    const { engine } = this;
    const first = (words[SLOT_RECORDS] as number) >> 2;
    const end = first + (words[SLOT_COUNT] as number) * RECORD_WORDS;
    const memory = engine.memory();
    const records: DecisionRecord[] = [];
    const calls: (Call | undefined)[] = [];
    for (let i = first; i < end; i += RECORD_WORDS) {
      records.push(new DecisionRecord(engine, i));
      calls.push(this.callOf(memory, i, begun));
    }
    for (let i = 0; i < records.length; i++) {
      const record = records[i] as DecisionRecord;
      const call = calls[i];
      const changed = record.kind === DECISION_CHANGE ? this.lead.members[record.policy] : undefined;
      const to = changed ?? (call ? (call.runner as Driver) : this);
      to.act(record, call);
      if (to !== this) to.rest();
    }
    this.rest();
  }

  // A slot may belong to a call which ends before the one that begins there.
  private callOf(records: Int32Array, i: number, begun: Call | undefined): Call | undefined {
    const slot = records[i + RECORD_SLOT / 4] as number;
    const generation = records[i + RECORD_GENERATION / 4] as number;
    if (begun !== undefined && begun.slot === slot && begun.generation === generation) {
      this.live[slot] = begun;
      return begun;
    }
    const call = this.live[slot];
    return call !== undefined && call.generation === generation ? call : undefined;
  }

  /** Performs a decision about a call. */
  private act(record: DecisionRecord, call: Call | undefined): void {
    if (record.kind === DECISION_CHANGE) {
      this.changed(record);
      return;
    }
    if (this.emitter.hears(record.name)) this.emitter.emit(record.told(call));
    if (!call) return;
    call.softs?.follow(record);
    if (record.flags & FLAG_LAST) {
      if (this.live[call.slot] === call) this.live[call.slot] = undefined;
      this.ended(call);
    }
    if (call.guest) call.guest.post(() => call.follow(record));
    else call.follow(record);
  }

  /** A breaker has changed its state, which concerns no call. */
  private changed(record: DecisionRecord): void {
    const step = this.layout.steps[record.step];
    const key = this.handle.keys.text(record.slot);
    this.emitter.emit(record.toldChange(step, key));
    if (record.value === MODE_OPEN) this.reopen(record.step, step?.name as string, key);
  }

  /** Lets an open breaker become half-open when its time comes; without a listener the next call does that. */
  private reopen(step: number, name: string, key: string): void {
    const { emitter, layout, handle } = this;
    if (!emitter.heard || handle.disposed || layout.steps[step]?.name !== name) return;
    if (this.ask(step, key, ACTION_TICK).mode !== MODE_OPEN) return;
    const { millis } = this.ask(step, key, ACTION_PEEK);
    if (millis === undefined) return;
    const reopening = new Reopening(() => this.reopen(step, name, key));
    this.wakes.set(reopening, this.now() + millis);
  }

  /** Has the soft limits of a call told. */
  private soften(call: Call, options: PipelineCallOptions | undefined): void {
    const { layout, wakes, emitter } = this;
    const skips = skippedBy(layout.conditions, options?.key, options?.attributes);
    call.softs = new Softs(options?.key, layout, skips, wakes, emitter);
  }

  /** A call has ended. */
  private ended(call: Call): void {
    if (call.softs !== undefined) call.softs.end();
    if (call.options !== undefined || call.guest !== undefined) call.detach();
    this.active--;
    const { lead } = this;
    if (lead.due === NEVER) lead.waits--;
    else this.wakes.hold(lead, -1);
    if (this.idlers.length) this.empty();
  }
}
