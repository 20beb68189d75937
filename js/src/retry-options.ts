import type { Backoff, Jitter } from './backoff.js';
import type { Listener } from './emitter.js';
import type {
  CallOptions,
  Classifier,
  CommonOptions,
  Decision,
  Duration,
  Rate,
  Rejection,
  RetryAfterReader,
  Share,
  Success,
  Task,
} from './types.js';

/** Settings of a retry. */
export interface RetryOptions extends CommonOptions, Classifier, RetryAfterReader {
  /** Attempts in all, the first included: 3 attempts are 2 retries. Default 3. */
  attempts?: number | undefined;
  /** The delay between the end of an attempt and the next one. Default `{ exponential: '500ms' }`. */
  backoff?: 'none' | Backoff | undefined;
  /** What randomness does to the delay. Default `full`. */
  jitter?: Jitter | undefined;
  /** No attempt starts that long or longer after the call. One that runs goes on. Default: no bound. */
  max_elapsed?: Duration | undefined;
  /**
   * How many retries all calls may have together, as a share of the first attempts.
   * Default: none. `@sluice/core/retry` has none.
   */
  budget?: 'none' | Share | { ratio: Share; minimum?: Rate; window?: Duration };
}

/** Runs a function again when it fails. Make one with `retry`. */
export interface Retry extends Disposable {
  /**
   * Runs the function until it succeeds or the policy gives up, and throws its
   * last error then. An aborted signal ends the call and rejects with its reason.
   */
  execute<T>(task: Task<T>, options?: CallOptions): Promise<T>;
  /** Like `execute`, as the facade of other mechanisms: `{ ok: true, value }`. What the function throws is thrown. */
  attempt<T>(task: Task<T>, options?: CallOptions): Promise<Success<T> | Rejection>;
  /** Adds a listener for all decisions. Returns a function that removes it. */
  on(listener: Listener): () => void;
  /** Adds a listener for the decisions of one kind. */
  on(kind: Decision['kind'], listener: Listener): () => void;
  /** Ends its use: it frees its memory when its running calls have ended. */
  dispose(): void;
}
