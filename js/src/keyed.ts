import type { Emitter } from './emitter.js';
import { x } from './engine.js';
import { PolicyError } from './errors.js';
import { RateLimiter, type RateLimiterOptions } from './limiter.js';
import { Observable } from './observable.js';
import { type Shared, share } from './shared.js';
import { type Snapshot, shift, taken } from './snapshot.js';
import type { CostOptions, Rate, Rejection, Success, Task, Verdict } from './types.js';

/** Settings of a keyed rate limiter. */
export interface KeyedRateLimiterOptions extends RateLimiterOptions {
  /**
   * The most keys that have a limiter of their own. Above it new keys share one,
   * until that of another key is as good as new. Default 65,536.
   */
  maxKeys?: number;
}

/** A call and whom it is counted to. */
export interface KeyedOptions extends CostOptions {
  /** Whom the call is counted to. */
  key: string;
}

/** How many limiters are looked at, to forget what cannot be told from a new one, when a key comes. */
const SWEEP = 4;

/** A rate limiter for each key. Make one with `rateLimiter.keyed`. */
export class KeyedRateLimiter extends Observable {
  private readonly shared: Shared;
  private readonly limiters = new Map<string, RateLimiter>();
  private hand = this.limiters.entries();
  private overflow: RateLimiter | undefined;

  /** @internal */
  constructor(private readonly options: KeyedRateLimiterOptions | Rate) {
    super();
    this.shared = share('limit', options);
    if (!(this.most >= 1)) {
      throw new PolicyError('bad-argument', `maxKeys: found ${this.most}; allowed 1 or more`);
    }
  }

  /** @internal */
  override get emitter(): Emitter {
    return this.shared.emitter;
  }

  /** How many keys have a limiter of their own. */
  get size(): number {
    return this.limiters.size;
  }

  /** Takes permits of a key if they are there. It never waits. */
  tryAcquire(key: string, options?: CostOptions): Verdict {
    return this.of(key).tryAcquire(options);
  }

  /** Takes permits of a key and waits for its turn, as long as the policy's `wait` allows. */
  acquire(key: string, options?: CostOptions): Promise<Verdict> {
    return this.of(key).acquire(options);
  }

  /** Says what `tryAcquire` would say, and takes nothing. */
  peek(key: string, options?: CostOptions): Verdict {
    return this.of(key).peek(options);
  }

  /** Runs the function, or throws `RejectedError` when the key's limiter refuses. */
  execute<T>(task: Task<T>, options: KeyedOptions): Promise<T> {
    return this.of(options.key).execute(task, options);
  }

  /** Like `execute`, but a refusal is a value. */
  attempt<T>(task: Task<T>, options: KeyedOptions): Promise<Success<T> | Rejection> {
    return this.of(options.key).attempt(task, options);
  }

  /** The states of all keys as a plain value, to any storage. */
  snapshot(): Snapshot {
    const states = Object.fromEntries([...this.limiters].map(([key, limiter]) => [key, limiter.stored()]));
    return taken(this.shared.clock, { [this.shared.name]: states });
  }

  /**
   * Takes over the states of another process, as a rate limiter does. Returns false
   * where some were left out: keys above `maxKeys`, states of another algorithm.
   */
  restore(snapshot: Snapshot): boolean {
    const by = shift(this.shared.clock, snapshot);
    const states = snapshot.steps[this.shared.name];
    if (typeof states !== 'object') return false;
    const restored = Object.entries(states).map(([key, state]) => {
      const limiter = this.of(key);
      return limiter !== this.overflow && limiter.adopt(state, by);
    });
    return restored.every(Boolean);
  }

  private get most(): number {
    return (this.options as KeyedRateLimiterOptions).maxKeys ?? 65_536;
  }

  private of(key: string): RateLimiter {
    return this.limiters.get(key) ?? this.make(key);
  }

  private make(key: string): RateLimiter {
    this.sweep();
    if (this.size >= this.most) {
      this.overflow ??= new RateLimiter(this.options, this.shared);
      return this.overflow;
    }
    const limiter = new RateLimiter(this.options, this.shared, key);
    this.limiters.set(key, limiter);
    return limiter;
  }

  // Keys that come pay for forgetting those that went: no pass over all.
  private sweep(): void {
    const { clock, handles } = this.shared;
    for (let i = 0; i < SWEEP; i++) {
      const { value } = this.hand.next();
      if (!value) {
        this.hand = this.limiters.entries();
        return;
      }
      const [key, { handle }] = value;
      if (x.fresh(handle, clock.now()) === 1) {
        this.limiters.delete(key);
        handles.delete(handle);
        x.free(handle);
      }
    }
  }
}
