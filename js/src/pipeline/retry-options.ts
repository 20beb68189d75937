import type { Listener } from '../base/emitter.js';
import type {
  CallOptions,
  Classifier,
  CommonOptions,
  Decision,
  DelayReader,
  Rejection,
  RetryAfterReader,
  Success,
  Task,
} from '../base/types.js';
import type { RetrySettings } from '../generated/settings.js';

/** Settings of a retry, without what belongs to the steps of a policy. `@sluice/core/retry` has no `budget`. */
export interface RetryOptions
  extends CommonOptions,
    Classifier,
    RetryAfterReader,
    DelayReader,
    Omit<RetrySettings, 'methods' | 'refusals'> {}

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
  /**
   * Replaces its settings: what is left out has its default. Running calls keep theirs; the name, the clock and functions
   * stay. Throws `PolicyError`, and changes nothing, for wrong settings.
   */
  configure(options: RetryOptions | number): void;
  /** Ends its use: it frees its memory when its running calls have ended. */
  dispose(): void;
}
