import { ACTION_RESET } from './abi.js';
import { checkCall, checkKey, checkTask, wrongArgument } from './checks.js';
import type { Emitter } from './emitter.js';
import { disposed, PolicyError } from './errors.js';
import { RateLimiter, type RateLimiterOptions } from './limiter.js';
import { Observable } from './observable.js';
import type { Alone } from './reader/alone.js';
import { type Shared, share } from './shared.js';
import { type Snapshot, shift, taken } from './snapshot.js';
import type { CostOptions, Quota, Rate, Rejection, Success, Task, Verdict } from './types.js';

/** Settings of a keyed rate limiter. */
export interface KeyedRateLimiterOptions extends RateLimiterOptions {
  /** The greatest number of keys that have a limiter of their own, 1 to 10,000,000. Default 100,000. */
  keys?: number | undefined;
  /**
   * What happens to a new key above `keys`: it evicts the least recently used key at
   * which no caller waits, or shares one limiter with all other new keys. Where
   * callers wait at all keys, it shares one, too. Default `evict`.
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
}

const DEFAULT_KEYS = 100_000;
const MAX_KEYS = 10_000_000;

/**
 * Limiters in the order of their last use, so that the least recently used one is
 * evicted. Uses in quick succession count as one.
 */
class Order {
  private newest: Entry | undefined;
  private oldest: Entry | undefined;
  private moves = 0;

  /** An entry moves when so many others have moved or come since. */
  constructor(private readonly slack: number) {}

  /** An entry is used. */
  touch(entry: Entry): void {
    if (entry.listed && this.moves - entry.moved < this.slack) return;
    this.remove(entry);
    entry.moved = ++this.moves;
    this.link(entry, this.newest, undefined);
  }

  /** Removes the least recently used entry at which no caller waits. */
  take(): Entry | undefined {
    for (let entry = this.oldest; entry; entry = this.oldest) {
      // An entry with waiters is added again when it is used or when its last waiter has left.
      this.remove(entry);
      if (!entry.busy) return entry;
    }
    return undefined;
  }

  /** No caller waits at an entry any more. One that was skipped is evicted next. */
  released(entry: Entry): void {
    if (entry.listed) return;
    entry.moved = -Infinity;
    this.link(entry, undefined, this.oldest);
  }

  private link(entry: Entry, older: Entry | undefined, newer: Entry | undefined): void {
    entry.listed = true;
    entry.older = older;
    entry.newer = newer;
    if (older) older.newer = entry;
    else this.oldest = entry;
    if (newer) newer.older = entry;
    else this.newest = entry;
  }

  /** Takes an entry out of the order. */
  remove(entry: Entry): void {
    if (!entry.listed) return;
    const { older, newer } = entry;
    if (newer) newer.older = older;
    else this.newest = older;
    if (older) older.newer = newer;
    else this.oldest = newer;
    entry.listed = false;
    entry.older = entry.newer = undefined;
  }
}

/** The limiter of a key. */
class Entry extends RateLimiter {
  newer: Entry | undefined;
  older: Entry | undefined;
  listed = false;
  moved = 0;
  busy = false;

  constructor(
    options: unknown,
    shared: Shared,
    key: string,
    private readonly order: Order,
  ) {
    super(options, shared, key);
  }

  /** The key whose limiter it is. */
  get whose(): string {
    return this.key as string;
  }

  /** Becomes the limiter of another key. */
  rename(key: string): void {
    this.key = key;
    this.perform(ACTION_RESET);
  }

  /** Frees its memory. */
  free(): void {
    const { engine, handles } = this.common;
    handles.delete(this.handle);
    engine.x.free(this.handle);
  }

  protected override held(waits: boolean): void {
    this.busy = waits;
    if (!waits) this.order.released(this);
  }
}

/** A rate limiter for each key. Make one with `rateLimiter.keyed`. */
export class KeyedRateLimiter extends Observable {
  private readonly common: Shared;
  private readonly limiters = new Map<string, Entry>();
  private readonly most: number;
  private readonly evicts: boolean;
  private readonly order: Order;
  private readonly rest: unknown;
  private spare: RateLimiter | undefined;
  private unused: RateLimiter | undefined;
  private evicted = 0;
  private spared = 0;
  private gone = false;

  /** @internal */
  constructor(options: KeyedRateLimiterOptions | Rate, alone: Alone) {
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
    // A quarter of all that have moved since leaves three quarters that were used since.
    this.order = new Order(keys >> 2);
  }

  /** @internal */
  override get emitter(): Emitter {
    return this.common.emitter;
  }

  /** Frees the memory of all keys, as a rate limiter does. */
  override dispose(): void {
    for (const limiter of [...this.limiters.values(), this.spare, this.unused]) limiter?.dispose();
    this.limiters.clear();
    this.gone = true;
    this.common.engine.release(this.common.handles);
  }

  protected override shown(): [string, object] {
    return ['KeyedRateLimiter', { name: this.common.name, ...this.counts }];
  }

  /** How many keys have a limiter of their own. */
  get size(): number {
    return this.limiters.size;
  }

  /** How many keys there are, and how many had to share or were evicted. */
  get counts(): KeyCounts {
    return { keys: this.size, evictions: this.evicted, shared: this.spared };
  }

  /** Acquires permits of a key if they are free. It never waits. */
  tryAcquire(key: string, options?: CostOptions): Verdict {
    return this.of(key).tryAcquire(options);
  }

  /** Acquires permits of a key and waits for its turn, as long as the policy's `wait` allows. */
  async acquire(key: string, options?: CostOptions): Promise<Verdict> {
    return this.of(key).acquire(options);
  }

  /** Returns what `tryAcquire` would return, and takes nothing. */
  peek(key: string, options?: CostOptions): Verdict {
    // An unknown key answers as a new one, and is not stored.
    checkKey(key);
    return (this.limiters.get(key) ?? this.unknown()).peek(options);
  }

  /** Returns what a key has left, and takes nothing. */
  quota(key: string): Quota {
    checkKey(key);
    return (this.limiters.get(key) ?? this.unknown()).quota();
  }

  /** The keys that have a limiter of their own. */
  keys(): IterableIterator<string> {
    return this.limiters.keys();
  }

  /** Whether a key has a limiter of its own. */
  has(key: string): boolean {
    return this.limiters.has(key);
  }

  /** Gives a key all its permits again; callers that wait are refused. Returns false where it has no limiter. */
  reset(key: string): boolean {
    checkKey(key);
    const limiter = this.limiters.get(key);
    limiter?.reset();
    return limiter !== undefined;
  }

  /** Forgets a key. Returns false where it has no limiter, and where a caller waits at it. */
  evict(key: string): boolean {
    checkKey(key);
    const limiter = this.limiters.get(key);
    if (!limiter || limiter.busy) return false;
    this.order.remove(limiter);
    this.limiters.delete(key);
    limiter.free();
    return true;
  }

  /** Runs the function, or throws `RejectedError` when the key's limiter refuses. */
  async execute<T>(task: Task<T>, options: KeyedOptions): Promise<T> {
    return this.of(this.keyOf(task, options)).execute(task, options);
  }

  /** Like `execute`, but a refusal is a value. */
  async attempt<T>(task: Task<T>, options: KeyedOptions): Promise<Success<T> | Rejection> {
    return this.of(this.keyOf(task, options)).attempt(task, options);
  }

  /** The states of all keys as a plain value, for any storage. */
  snapshot(): Snapshot {
    const states = Object.fromEntries([...this.limiters].map(([key, limiter]) => [key, limiter.stored()]));
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
      const limiter = this.of(key);
      return limiter !== this.spare && limiter.adopt(state, by);
    });
    return restored.length === all.length && restored.every(Boolean);
  }

  private keyOf(task: unknown, options: KeyedOptions): string {
    checkTask(task);
    checkCall(options, ['signal', 'cost', 'key']);
    return options.key;
  }

  private of(key: string): RateLimiter {
    checkKey(key);
    const limiter = this.limiters.get(key);
    if (!limiter) return this.make(key);
    this.order.touch(limiter);
    return limiter;
  }

  private make(key: string): RateLimiter {
    let limiter: Entry | undefined;
    if (this.gone) throw disposed();
    if (this.size < this.most) limiter = this.add(key);
    if (!limiter && this.evicts) limiter = this.replace(key);
    if (limiter) {
      this.limiters.set(key, limiter);
      this.order.touch(limiter);
      return limiter;
    }
    this.spared++;
    this.spare ??= new RateLimiter(this.rest, this.common);
    return this.spare;
  }

  /** Makes the limiter of a key. Undefined where there is no memory for it, and another key may give way. */
  private add(key: string): Entry | undefined {
    try {
      return new Entry(this.rest, this.common, key, this.order);
    } catch (error) {
      if (!this.size || !(error instanceof PolicyError && error.code === 'out-of-memory')) throw error;
      return undefined;
    }
  }

  /** Gives a key the limiter of another one, if there is one at which no caller waits. */
  private replace(key: string): Entry | undefined {
    const limiter = this.order.take();
    if (!limiter) return undefined;
    this.evicted++;
    this.limiters.delete(limiter.whose);
    limiter.rename(key);
    return limiter;
  }

  /** The limiter that answers for a key without one. */
  private unknown(): RateLimiter {
    if (this.spare && !this.evicts && this.size >= this.most) return this.spare;
    this.unused ??= new RateLimiter(this.rest, this.common);
    return this.unused;
  }
}
