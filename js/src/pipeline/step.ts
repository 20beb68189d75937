import { checkKey, wrongArgument } from '../base/checks.js';
import { PolicyError, refusal } from '../base/errors.js';
import type { Admission, BreakerState, Duration, Reason, Rejection } from '../base/types.js';
import {
  ACTION_DRAIN,
  ACTION_PEEK,
  ACTION_RESET,
  ACTION_TICK,
  ACTION_TRANSITION,
  MODES,
  NONE,
  REASONS,
  VERDICT_ADMIT,
} from '../generated/abi.js';
import { millisecondsOf } from '../reader/spans.js';
import type { PlanStep } from './plan.js';

/** What the module answers about a cell, without a call. */
export interface Answer {
  readonly verdict: number;
  readonly free: number;
  readonly reason: number;
  /** Until a refusal would not be one; undefined where it is not known. */
  readonly millis: number | undefined;
  readonly mode: number;
}

/** What administers the cells of a pipeline. */
export interface Cells {
  /** A step of the active policy by its name. */
  locate(name: string): { readonly index: number; readonly step: PlanStep };
  ask(index: number, key: string, kind: number, cost?: number): Answer;
  evict(index: number, key: string): boolean;
  keysOf(index: number): string[];
  waiting(index: number, key: string): number;
  places(index: number): number | undefined;
  /** Blocks a key for milliseconds, NaN to end that. */
  block(index: number, key: string, milliseconds: number): boolean;
  /** Replaces the settings of a step. */
  change(index: number, settings: unknown): void;
}

/** What is taken of a bulkhead. */
export interface BulkheadCounts {
  /** The places that are taken: as many as calls run, where each takes one. */
  readonly running: number;
  /** The calls that wait for one. */
  readonly queued: number;
  /** The free places. */
  readonly free: number;
}

/**
 * A step of a pipeline, to be watched and changed by hand. Its methods take the key of
 * a step with `per`, as `keys()` returns it; without `per` there is one cell and no key.
 */
export class PipelineStep {
  // Private to the language: console.log does not show it.
  readonly #cells: Cells;

  /** @internal */
  constructor(
    cells: Cells,
    /** The name of the step. */
    readonly name: string,
  ) {
    this.#cells = cells;
  }

  /** The mechanism, as in a policy. */
  get mechanism(): string {
    return this.#cells.locate(this.name).step.mechanism;
  }

  /**
   * The keys that have a cell. One of several attributes has the length and the text of
   * each: `1:a2:bc`. It asks for each value that the pipeline knows.
   */
  keys(): string[] {
    return this.#cells.keysOf(this.#cells.locate(this.name).index);
  }

  /** Returns what the step would say to a call of a cost, and takes nothing. */
  peek(key = '', cost = 1): Admission | Rejection {
    const { verdict, reason, millis } = this.ask(key, ACTION_PEEK, cost);
    if (verdict === VERDICT_ADMIT) return { ok: true };
    return refusal(this.name, REASONS[reason] as Reason, millis);
  }

  /** The state of a circuit breaker. Throws `PolicyError` for other mechanisms. */
  state(key = ''): BreakerState {
    this.only('breaker');
    const { verdict, mode } = this.ask(key, ACTION_TICK);
    return verdict ? (MODES[mode] as BreakerState) : 'closed';
  }

  /** Changes the state of a circuit breaker by hand. Returns false where the key has no cell. */
  transition(state: BreakerState, key = ''): boolean {
    this.only('breaker');
    const mode = MODES.indexOf(state);
    if (mode < 0) wrongArgument('state', state, MODES.join(', '));
    return this.ask(key, ACTION_TRANSITION, mode).verdict > 0;
  }

  /** How many calls run and wait at a bulkhead. Throws `PolicyError` for other mechanisms. */
  counts(key = ''): BulkheadCounts {
    this.only('bulkhead');
    const { index } = this.#cells.locate(this.name);
    const { free } = this.ask(key, ACTION_PEEK);
    const running = (this.#cells.places(index) as number) - free;
    return { running, queued: this.#cells.waiting(index, key), free };
  }

  /**
   * Makes the state a new one: a limit has all permits, a breaker is closed without outcomes, a
   * bulkhead has no holders. Calls that wait there are refused. Returns false where the key has no cell.
   */
  reset(key = ''): boolean {
    return this.ask(key, ACTION_RESET).verdict > 0;
  }

  /** Gives up the free permits of a limit: the dependency asked for a pause. They come back with the rate. Throws `PolicyError` for other mechanisms. */
  drain(key?: string): void {
    this.only('limit');
    if (key === undefined && this.#cells.locate(this.name).step.per.length) {
      wrongArgument(`step ${this.name}`, 'no key', 'drain of a key');
    }
    this.ask(key ?? '', ACTION_DRAIN);
  }

  /**
   * Refuses the calls of a key for a time, with the reason `blocked`; another block of the key replaces it. At most 10,000 keys
   * of a step are blocked, in this process and in no snapshot. Throws `PolicyError` for more, and for a step without `per`.
   */
  block(key: string, duration: Duration): void {
    const milliseconds = millisecondsOf('block', duration);
    if (!this.bar(key, milliseconds)) {
      throw new PolicyError('bad-size', `step ${this.name}: found 10000 blocked keys; allowed no more`);
    }
  }

  /** Ends the block of a key, also the block of a limit which it has exceeded. Returns false where it is not blocked. */
  unblock(key: string): boolean {
    const ended = this.bar(key, NONE);
    const lifts = this.mechanism === 'limit' && this.ask(key, ACTION_TRANSITION).verdict > 0;
    return ended || lifts;
  }

  /**
   * Replaces the settings of the mechanism, as they are in a policy; what is left out has its default. What a step has beside
   * them stays: its name, `per`, `keys`, `when` and the like. The state stays as `configure` of a pipeline says, whose
   * `policy` is then the changed one. Throws `PolicyError` for wrong settings, and in a policy with mechanisms that policies share.
   */
  configure(settings: unknown): void {
    this.#cells.change(this.#cells.locate(this.name).index, settings);
  }

  /** Forgets a key. Returns false where it has no cell, and where a call waits or holds something there. */
  evict(key: string): boolean {
    checkKey(key);
    return this.#cells.evict(this.#cells.locate(this.name).index, key);
  }

  private ask(key: string, kind: number, cost?: number): Answer {
    checkKey(key);
    return this.#cells.ask(this.#cells.locate(this.name).index, key, kind, cost);
  }

  private bar(key: string, milliseconds: number): boolean {
    checkKey(key);
    const { index, step } = this.#cells.locate(this.name);
    if (!step.per.length) wrongArgument(`step ${this.name}`, undefined, 'a step with per, which has keys');
    return this.#cells.block(index, key, milliseconds);
  }

  private only(mechanism: string): void {
    const found = this.mechanism;
    if (found !== mechanism) wrongArgument(`step ${this.name}`, found, mechanism);
  }
}
