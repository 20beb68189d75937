import { checkCall, checkKey, checkTask, wrongArgument } from '../base/checks.js';
import type { Emitter } from '../base/emitter.js';
import { disposed, PolicyError, refusalUntil } from '../base/errors.js';
import { Observable } from '../base/observable.js';
import { type Snapshot, shift, taken } from '../base/snapshot.js';
import type { CostOptions, LimitRate, Quota, Rejection, Success, Task, Verdict } from '../base/types.js';
import { reshare, type Shared, share } from '../engine/shared.js';
import { SLOT_MILLIS, VERDICT_ADMIT } from '../generated/abi.js';
import type { Alone } from '../reader/alone.js';
import { newCell } from './cell.js';
import { KeyTable, NO_ROW } from './key-table.js';
import { Allowed, mayBlock, mayWait, RateLimiter, type RateLimiterOptions } from './limiter.js';

/** Settings of a keyed rate limiter. */
export interface KeyedRateLimiterOptions extends RateLimiterOptions {
  /** The greatest number of keys that have a limiter of their own, 1 to 10,000,000. Default 100,000. */
  keys?: number | undefined;
  /**
   * What happens to a new key above `keys`: it evicts another key at which no caller waits, one that has
   * all its permits before one that is used up, and a blocked one last; or it shares one limiter with all other
   * new keys. Where callers wait at all keys, it shares one, too. Default `evict`.
   */
  when_full?: 'evict' | 'share' | undefined;
}

/** Options of a call of a key. */
export interface KeyedOptions extends CostOptions {
  /** The key whose limiter the call uses. */
  key: string;
}

/** Counts of a keyed rate limiter. */
export interface KeyCounts {
  /** Keys that have a limiter of their own. */
  readonly keys: number;
  /** Keys that were evicted so far. */
  readonly evictions: number;
  /** Uses of the limiter that new keys share, so far. */
  readonly shared: number;
  /** Refusals over the rate that could begin no block, because half of the keys have one, so far. */
  readonly unblocked: number;
}

const DEFAULT_KEYS = 100_000;
const MAX_KEYS = 10_000_000;
/** Below so many keys their order is exact. */
const EXACT_KEYS = 256;

/** The limiter of a key at which callers may wait. */
class WaitingLimiter extends RateLimiter {
  /** Whether a caller waits. */
  busy = false;

  constructor(
    options: unknown,
    shared: Shared,
    key: string,
    handle: number,
    private readonly table: KeyTable,
    private readonly row: number,
    /** Whether it may block, and its key gives way. */
    private readonly blocks: boolean,
  ) {
    super(options, shared, key, handle);
  }

  /** Becomes the limiter of another key. */
  rename(key: string): void {
    this.key = key;
  }

  protected override held(waits: boolean): void {
    this.busy = waits;
    if (waits) this.table.hold(this.row);
    else this.table.released(this.row);
  }

  protected override get unblocked(): boolean {
    return this.blocks && !this.table.mayBlock();
  }

  override decided(verdict: number, now: number): Verdict {
    const result = super.decided(verdict, now);
    if (this.blocks && !result.ok) {
      if (result.reason === 'rate' && this.unblocked) this.table.unblocked++;
      this.table.noteBlock(this.row);
    }
    return result;
  }

  override reset(): void {
    super.reset();
    if (this.blocks) this.table.noteBlock(this.row);
  }
}

/** A rate limiter for each key. Make one with `rateLimiter.keyed`. */
export class KeyedRateLimiter extends Observable {
  private readonly common: Shared;
  private readonly table: KeyTable;
  /** By their rows, where callers may wait: they are at an object. Else one is made where it is needed. */
  private waiting: WaitingLimiter[] | undefined;
  private readonly most: number;
  private readonly evicts: boolean;
  private blocks: boolean;
  private rest: unknown;
  private spare: RateLimiter | undefined;
  private unused: RateLimiter | undefined;
  private evicted = 0;
  private spared = 0;
  private gone = false;

  /** @internal */
  constructor(
    options: KeyedRateLimiterOptions | LimitRate,
    private readonly alone: Alone,
  ) {
    super();
    const { keys = DEFAULT_KEYS, when_full = 'evict', ...rest } = Object(options) as KeyedRateLimiterOptions;
    this.rest = typeof options === 'object' ? rest : options;
    this.common = share(alone, this.rest);
    if (!Number.isInteger(keys) || keys < 1 || keys > MAX_KEYS) {
      wrongArgument('keys', keys, `1 to ${MAX_KEYS}`);
    }
    if (when_full !== 'evict' && when_full !== 'share') {
      wrongArgument('when_full', when_full, 'evict, share');
    }
    this.most = keys;
    this.evicts = when_full === 'evict';
    this.waiting = mayWait(this.rest) ? [] : undefined;
    this.blocks = this.evicts && mayBlock(this.rest);
    // A quarter of all that have moved since leaves three quarters that were used since.
    this.table = new KeyTable(keys < EXACT_KEYS || this.blocks ? 0 : keys >> 2, keys, this);
  }

  /** @internal */
  override get emitter(): Emitter {
    return this.common.emitter;
  }

  /** Frees the memory of all keys, as a rate limiter does. */
  override dispose(): void {
    for (const limiter of [...(this.waiting ?? []), this.spare, this.unused]) limiter?.dispose();
    this.table.clear();
    this.gone = true;
    this.common.engine.release(this.common.handles);
  }

  protected override shown(): [string, object] {
    return ['KeyedRateLimiter', { name: this.common.name, ...this.counts }];
  }

  /** How many keys have a limiter of their own. */
  get size(): number {
    return this.table.size;
  }

  /** How many keys there are, and how many had to share or were evicted. */
  get counts(): KeyCounts {
    return { keys: this.size, evictions: this.evicted, shared: this.spared, unblocked: this.table.unblocked };
  }

  /** Acquires permits of a key if they are free. It never waits. */
  tryAcquire(key: string, options?: CostOptions): Verdict {
    const { table, common } = this;
    const row = this.rowOf(key);
    // Without options, a queue and listeners a decision is one call of the module.
    if (row === NO_ROW || options !== undefined || this.waiting || common.emitter.heard) {
      return this.at(row).tryAcquire(options);
    }
    const now = common.clock.now();
    if (now < table.barredUntil(row)) return refusalUntil(common.name, 'rate', now, table.barredUntil(row));
    const verdict = common.engine.x.acquire(table.handleOf(row), 1, 0, now);
    if (verdict === VERDICT_ADMIT) return new Allowed(this, key);
    const refused = this.at(row).decided(verdict, now);
    if (!refused.ok && refused.reason === 'rate' && refused.retryAfter !== undefined) {
      table.bar(row, now + refused.retryAfter);
    }
    return refused;
  }

  /** Acquires permits of a key and waits for its turn, as long as the policy's `wait` allows. */
  async acquire(key: string, options?: CostOptions): Promise<Verdict> {
    return this.waiting ? this.at(this.rowOf(key)).acquire(options) : this.tryAcquire(key, options);
  }

  /** Returns what `tryAcquire` would return, and takes nothing. */
  peek(key: string, options?: CostOptions): Verdict {
    return this.known(key).peek(options);
  }

  /** Returns what a key has left, and takes nothing. */
  quota(key: string): Quota {
    return this.known(key).quota();
  }

  /** The keys that have a limiter of their own. */
  keys(): IterableIterator<string> {
    return this.table.names();
  }

  /** Whether a key has a limiter of its own. */
  has(key: string): boolean {
    return this.table.find(key) !== undefined;
  }

  /** Gives a key all its permits again; callers that wait are refused. Returns false where it has no limiter. */
  reset(key: string): boolean {
    checkKey(key);
    const row = this.table.find(key);
    if (row === undefined) return false;
    this.table.bar(row);
    this.at(row).reset();
    this.table.stepped(row);
    return true;
  }

  /**
   * Replaces the settings of all keys, as a rate limiter does; `keys` and `when_full` stay. It takes a microsecond a key. Throws
   * `PolicyError`, and changes nothing, for wrong settings, and for a `wait` or a `block` where it had neither.
   */
  configure(options: RateLimiterOptions | LimitRate): void {
    const { common, table, waiting } = this;
    if (this.gone) throw disposed();
    const blocks = this.evicts && mayBlock(options);
    if ((mayWait(options) && !waiting) || (blocks && !this.blocks)) {
      wrongArgument(
        'configure',
        options,
        'settings without a wait and a block, which it did not have when it was made',
      );
    }
    reshare(common, this.alone, options);
    this.rest = options;
    for (const row of [...table.entries()].map(([, row]) => row)) {
      table.bar(row);
      this.at(row).readopt(options);
      table.stepped(row);
      if (this.blocks) table.noteBlock(row);
    }
    this.spare?.readopt(options);
    this.unused?.readopt(options);
  }

  /** @internal */
  now(): number {
    return this.common.clock.now();
  }

  /** @internal */
  busy(row: number): boolean {
    return this.waiting?.[row]?.busy === true;
  }

  /** @internal */
  classOf(row: number, now: number): { class: number; until: number } {
    const { engine } = this.common;
    const found = engine.check(engine.x.rank(this.table.handleOf(row), now));
    const left = engine.floats()[SLOT_MILLIS] as number;
    return { class: found, until: left < 0 ? Number.POSITIVE_INFINITY : now + left };
  }

  /** Forgets a key. Returns false where it has no limiter, and where a caller waits at it. */
  evict(key: string): boolean {
    checkKey(key);
    const { table, common, waiting } = this;
    const row = table.find(key);
    if (row === undefined || waiting?.[row]?.busy) return false;
    const handle = table.handleOf(row);
    table.remove(row);
    common.handles.delete(handle);
    common.engine.x.free(handle);
    return true;
  }

  /** Runs the function, or throws `RejectedError` when the key's limiter refuses. */
  async execute<T>(task: Task<T>, options: KeyedOptions): Promise<T> {
    return this.at(this.rowOf(this.keyOf(task, options))).execute(task, options);
  }

  /** Like `execute`, but a refusal is a value. */
  async attempt<T>(task: Task<T>, options: KeyedOptions): Promise<Success<T> | Rejection> {
    return this.at(this.rowOf(this.keyOf(task, options))).attempt(task, options);
  }

  /** The states of all keys as a plain value, for any storage. */
  snapshot(): Snapshot {
    const { engine } = this.common;
    const states = Object.fromEntries(
      [...this.table.entries()].map(([key, row]) => [
        key,
        engine.stateText(engine.x.state(this.table.handleOf(row))),
      ]),
    );
    return taken(this.common.clock, { [this.common.name]: states });
  }

  /**
   * Restores the states of another process, as a rate limiter does. Returns false
   * where it skipped some: keys above `keys`, states of another algorithm.
   */
  restore(snapshot: Snapshot): boolean {
    const by = shift(this.common.clock, snapshot);
    const states = snapshot.steps[this.common.name];
    if (typeof states !== 'object') return false;
    const all = Object.entries(states);
    const restored = all.slice(0, this.most).map(([key, state]) => {
      const row = this.rowOf(key);
      if (row === NO_ROW) return false;
      this.table.bar(row);
      return this.at(row).adopt(state, by);
    });
    return restored.length === all.length && restored.every(Boolean);
  }

  private keyOf(task: unknown, options: KeyedOptions): string {
    checkTask(task);
    checkCall(options, ['signal', 'cost', 'key']);
    return options.key;
  }

  /** The row of a key that is used, which may be a new one; `NO_ROW` where it shares a limiter. */
  private rowOf(key: string): number {
    checkKey(key);
    const row = this.table.find(key);
    if (row === undefined) return this.make(key);
    this.table.touch(row);
    return row;
  }

  /** The limiter of a row. */
  private at(row: number): RateLimiter {
    const { rest, common, table, waiting } = this;
    if (row === NO_ROW) {
      this.spare ??= new RateLimiter(rest, common);
      return this.spare;
    }
    return waiting?.[row] ?? new RateLimiter(rest, common, table.keyOf(row), table.handleOf(row));
  }

  private make(key: string): number {
    if (this.gone) throw disposed();
    let row = NO_ROW;
    if (this.size < this.most) row = this.add(key);
    if (row === NO_ROW && this.evicts) row = this.replace(key);
    if (row === NO_ROW) this.spared++;
    return row;
  }

  /** Makes the limiter of a key. `NO_ROW` where there is no memory for it, and another key may give way. */
  private add(key: string): number {
    const { table, common, waiting, rest } = this;
    let handle: number;
    try {
      handle = newCell(common);
    } catch (error) {
      if (!this.size || !(error instanceof PolicyError && error.code === 'out-of-memory')) throw error;
      return NO_ROW;
    }
    const row = table.add(key, handle);
    if (waiting) waiting[row] = new WaitingLimiter(rest, common, key, handle, table, row, this.blocks);
    return row;
  }

  /** Gives a key the limiter of another one, if there is one at which no caller waits. */
  private replace(key: string): number {
    const { table, waiting } = this;
    const row = table.take();
    if (row === NO_ROW) return NO_ROW;
    this.evicted++;
    table.rename(row, key);
    waiting?.[row]?.rename(key);
    this.at(row).reset();
    return row;
  }

  /** The limiter that answers for a key, and is not stored for one without a limiter. */
  private known(key: string): RateLimiter {
    checkKey(key);
    const row = this.table.find(key);
    if (row !== undefined) return this.at(row);
    if (this.spare && !this.evicts && this.size >= this.most) return this.spare;
    // It answers as a new one.
    this.unused ??= new RateLimiter(this.rest, this.common);
    return this.unused;
  }
}
