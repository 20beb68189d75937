import { wrongArgument } from '../base/checks.js';
import type { Attempt, Task } from '../base/types.js';

/** What runs functions: a mechanism, a pipeline, or what `wrap` made. */
export interface Runs {
  /** Runs the function. Throws what it throws, or a `RejectedError` where it is refused. */
  execute<T>(task: Task<T>, options?: { signal?: AbortSignal | undefined }): Promise<T>;
}

/** Several mechanisms around each other. */
export interface Wrapped {
  /** Runs the function under all of them. Throws as each of them does. */
  execute<T>(task: Task<T>, options?: { signal?: AbortSignal | undefined }): Promise<T>;
}

/**
 * Puts mechanisms around each other, outermost first, so that several pipelines share one of
 * them: they have one limit, one number of places or one state together. The function gets the signal of the innermost
 * one and the greatest number of an attempt. A refusal by an inner one is `throttle` for the outer ones: a retry waits
 * for its `retryAfter`, and no breaker counts it.
 *
 * @example
 * const vendor = circuitBreaker(); // one for all that call it
 * const read = wrap(retry(3), vendor, timeout('1s'));
 * const write = wrap(vendor, timeout('10s'));
 */
export function wrap(...layers: readonly [Runs, ...Runs[]]): Wrapped {
  if (!(layers as readonly Runs[]).length)
    wrongArgument('wrap', undefined, 'one object with execute or more');
  for (const layer of layers) {
    if (typeof (layer as Runs | null)?.execute !== 'function')
      wrongArgument('wrap', layer, 'objects with execute');
  }
  const run = <T>(
    at: number,
    task: Task<T>,
    outer: Attempt | undefined,
    signal?: AbortSignal,
  ): Promise<T> => {
    const layer = layers[at] as Runs;
    const inner = (own: Attempt): T | PromiseLike<T> => {
      const attempt = outer ? new Combined(outer, own) : own;
      return at + 1 < layers.length ? run(at + 1, task, attempt, own.signal) : task(attempt);
    };
    return layer.execute(inner, signal && { signal });
  };
  return { execute: (task, options) => run(0, task, undefined, options?.signal) };
}

/** What a function gets under several mechanisms. */
class Combined implements Attempt {
  constructor(
    private readonly outer: Attempt,
    private readonly own: Attempt,
  ) {}

  get attempt(): number {
    return Math.max(this.outer.attempt, this.own.attempt);
  }

  get hedge(): boolean {
    return this.outer.hedge || this.own.hedge;
  }

  get lastError(): unknown {
    return this.own.lastError ?? this.outer.lastError;
  }

  get elapsed(): number | undefined {
    return this.outer.elapsed ?? this.own.elapsed;
  }

  get deadline(): number | undefined {
    const { deadline = Infinity } = this.outer;
    const least = Math.min(deadline, this.own.deadline ?? Infinity);
    return least === Infinity ? undefined : least;
  }

  get signal(): AbortSignal {
    return this.own.signal;
  }

  // A bound function, created on first use.
  get renew(): () => void {
    return () => {
      this.outer.renew();
      this.own.renew();
    };
  }

  // A bound function, created on first use.
  get used(): (permits: number) => void {
    return (permits) => {
      this.outer.used(permits);
      this.own.used(permits);
    };
  }
}
