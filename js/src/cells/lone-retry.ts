import { checkAlone, checkCall, checkHooks, checkTask } from '../base/checks.js';
import type { Emitter } from '../base/emitter.js';
import { Observable } from '../base/observable.js';
import type { CallOptions, Reason, Success, Task } from '../base/types.js';
import { guests, NEVER, type Wake } from '../base/wakes.js';
import { besideDelay, checkStays, reshare, type Shared, share, undelayed } from '../engine/shared.js';
import {
  NONE,
  OUTCOME_CANCEL,
  OUTCOME_FAIL,
  OUTCOME_THROTTLE,
  OUTCOMES,
  REASONS,
  SLOT_ATTEMPT,
  SLOT_BEFORE,
  SLOT_BEGAN,
  SLOT_MILLIS,
  SLOT_REASON,
} from '../generated/abi.js';
import { Running, untilAborted } from '../pipeline/attempt.js';
import { delayAfter, numberOf, retryAfterOf } from '../pipeline/meaning.js';
import type { Retry, RetryOptions } from '../pipeline/retry-options.js';
import { retryAlone } from '../reader/alone.js';

/** Sleeps until its time comes or a signal is aborted. */
class Sleeper implements Wake {
  due = NEVER;
  place = -1;
  waits = 1;
  unset = false;
  private readonly guest = guests?.greet(this.common.wakes, this);

  constructor(
    private readonly common: Shared,
    milliseconds: number,
    private readonly signal: AbortSignal | undefined,
    private readonly resolve: () => void,
    private readonly reject: (reason: unknown) => void,
  ) {
    common.wakes.set(this, common.clock.now() + milliseconds);
    signal?.addEventListener('abort', this);
  }

  wake(): void {
    this.end();
    this.resolve();
  }

  handleEvent(): void {
    this.common.wakes.set(this, NEVER);
    this.end();
    this.reject(this.signal?.reason);
  }

  private end(): void {
    this.signal?.removeEventListener('abort', this);
    this.guest?.leave();
  }
}

/** What the module stores of a call between its attempts. */
interface Before {
  low: number;
  high: number;
}

/** A retry over a module that has nothing else. */
class LoneRetry extends Observable implements Retry {
  private readonly common: Shared;
  /** Whether the time in which attempts start is bounded. */
  private bounded: boolean;

  constructor(private readonly options: RetryOptions) {
    super();
    checkHooks('retry', options);
    this.common = share(retryAlone, undelayed(options));
    this.bounded = options.max_elapsed !== undefined;
  }

  override get emitter(): Emitter {
    return this.common.emitter;
  }

  // It holds no memory of its own.
  override dispose(): void {}

  protected override shown(): [string, object] {
    return ['Retry', { name: this.common.name }];
  }

  configure(options: RetryOptions | number): void {
    checkStays(options);
    reshare(this.common, retryAlone, besideDelay(options, this.options.delay));
    this.bounded = (Object(options) as RetryOptions).max_elapsed !== undefined;
  }

  async attempt<T>(task: Task<T>, options?: CallOptions): Promise<Success<T>> {
    return { ok: true, value: await this.execute(task, options) };
  }

  async execute<T>(task: Task<T>, options?: CallOptions): Promise<T> {
    checkTask(task);
    if (options !== undefined) checkCall(options, ['signal']);
    const signal = options?.signal;
    const { outcome, retryAfter, delay: own } = this.options;
    const before: Before = { low: 0, high: 0 };
    let last: unknown;
    const { clock, emitter, name, maker } = this.common;
    const began = emitter.heard || this.bounded ? clock.now() : NaN;
    for (let attempt = 1; ; attempt++) {
      if (signal?.aborted) throw signal.reason;
      let threw = false;
      let error: unknown;
      let value: T | undefined;
      try {
        const running = new Running(attempt, signal);
        running.lastError = last;
        value = await (signal ? untilAborted(signal, () => task(running)) : task(running));
      } catch (thrown) {
        threw = true;
        error = thrown;
      }
      last = error;
      const number = numberOf(outcome, threw, error, value);
      if ((number === OUTCOME_FAIL || number === OUTCOME_THROTTLE) && !signal?.aborted) {
        const after = delayAfter(own, retryAfterOf(retryAfter, error, value), attempt, error, value);
        const delay = this.next(maker, before, attempt, number, after, began, error);
        if (delay >= 0 && !this.common.shadow) {
          await new Promise<void>((resolve, reject) => {
            new Sleeper(this.common, delay, signal, resolve, reject);
          });
          continue;
        }
      } else if (emitter.heard) {
        const at = clock.now();
        const outcome = OUTCOMES[signal?.aborted ? OUTCOME_CANCEL : number] as 'ok';
        emitter.emit({ kind: 'end', at, step: name, attempt, outcome, duration: at - began, error });
      }
      if (threw) throw error;
      return value as T;
    }
  }

  /** The delay before the next attempt, negative for none. */
  private next(
    maker: () => number,
    before: Before,
    attempt: number,
    outcome: number,
    after: number,
    began: number,
    error: unknown,
  ): number {
    const { engine, clock, emitter, name, shadow } = this.common;
    // First: where it is made anew, that may write these slots.
    const settings = maker();
    engine.words().set([attempt, before.low, before.high], SLOT_ATTEMPT);
    engine.floats()[SLOT_BEGAN] = began;
    const at = clock.now();
    const again = engine.check(engine.x.next(settings, outcome, after, NONE, at, random(), random()));
    const delay = again ? (engine.floats()[SLOT_MILLIS] as number) : -1;
    const gaveUp = REASONS[engine.words()[SLOT_REASON] as number] as Reason;
    before.low = engine.words()[SLOT_BEFORE] as number;
    before.high = engine.words()[SLOT_BEFORE + 1] as number;
    if (emitter.heard) {
      const what = OUTCOMES[outcome] as 'fail' | 'throttle';
      emitter.emit({
        kind: again ? 'retry' : 'end',
        at,
        step: name,
        attempt,
        reason: again ? what : gaveUp,
        outcome: again ? undefined : what,
        until: again ? at + delay : undefined,
        delay: again ? delay : undefined,
        duration: again ? undefined : at - began,
        error,
        shadow: (again && shadow) || undefined,
      });
    }
    return delay;
  }
}

const random = (): number => (Math.random() * 2 ** 32) >>> 0;

/**
 * A retry: it runs a function again when it fails. Throws `PolicyError` for wrong options.
 *
 * @example
 * const retries = retry({ attempts: 3, backoff: { exponential: '200ms' }, jitter: 'full' });
 * await retries.execute(({ signal }) => fetch(url, { signal }), { signal });
 */
export function retry(options?: RetryOptions | number): Retry;
export function retry(options: RetryOptions | number = {}, more?: unknown): Retry {
  checkAlone('retry', more);
  return new LoneRetry(options as RetryOptions);
}
