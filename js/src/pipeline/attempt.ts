import { checkPermits } from '../base/checks.js';
import type { Attempt } from '../base/types.js';

/**
 * Runs a function and settles as it does, or rejects with the reason of the signal as
 * soon as that is aborted. What the function does after that is dropped. `left` is called at the abort itself, before
 * anything that follows from it.
 */
export function untilAborted<T>(
  signal: AbortSignal,
  work: () => T | PromiseLike<T>,
  left?: () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      left?.();
      reject(signal.reason);
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort);
    const run = async (): Promise<T> => work();
    run()
      .finally(() => signal.removeEventListener('abort', abort))
      .then(resolve, reject);
  });
}

/** What knows of the call of an attempt. */
interface About {
  renew?(): void;
  /** Since the call began, in milliseconds. */
  elapsed?(): number | undefined;
  /** When it is cut, in milliseconds of the clock. */
  ends?(began: number): number | undefined;
}

/** What a function gets. Its signal is created on first use. */
export class Running implements Attempt {
  private controller: AbortController | undefined;
  private cut = false;
  private reason: unknown;
  /** What the attempt has used. */
  spent: number | undefined = undefined;
  /** What the attempt before it threw. */
  lastError: unknown = undefined;
  /** When it began to pass the steps, in milliseconds of the clock. */
  began = NaN;

  /** `given` is the caller's signal, where nothing else aborts the attempt; `about` knows of its call. */
  constructor(
    readonly attempt: number,
    private readonly given?: AbortSignal,
    private readonly about?: About,
    readonly hedge = false,
  ) {}

  get elapsed(): number | undefined {
    return this.about?.elapsed?.();
  }

  get deadline(): number | undefined {
    return this.about?.ends?.(this.began);
  }

  get signal(): AbortSignal {
    if (this.given) return this.given;
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.cut) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  // A bound function, created on first use.
  get renew(): () => void {
    return () => this.about?.renew?.();
  }

  // A bound function, created on first use.
  get used(): (permits: number) => void {
    return (permits) => {
      this.spent = checkPermits(permits);
    };
  }

  /** Aborts the signal, now or when it is made. */
  abort(reason: unknown): void {
    this.cut = true;
    this.reason = reason;
    this.controller?.abort(reason);
  }
}
