import type { Listener } from '../base/emitter.js';
import type {
  CallOptions,
  Classifier,
  CommonOptions,
  Decision,
  DelayReader,
  Duration,
  Rate,
  Rejection,
  RetryAfterReader,
  Share,
  Success,
  Task,
} from '../base/types.js';
import type { Backoff, Jitter } from './backoff.js';

/** Settings of a retry. */
export interface RetryOptions extends CommonOptions, Classifier, RetryAfterReader, DelayReader {
  /** Attempts in all, the first included: 3 attempts are 2 retries. Default 3. */
  attempts?: number | undefined;
  /** The delay between the end of an attempt and the next one. Default `{ exponential: '500ms' }`, `none` beside `delay`. */
  backoff?: 'none' | Backoff | undefined;
  /** What randomness does to the delay. Default `full`. */
  jitter?: Jitter | undefined;
  /** No attempt starts that long or longer after the call. One that runs goes on. Default: no bound. */
  max_elapsed?: Duration | undefined;
  /**
   * How many retries all calls may have together, as a share of the first attempts, or by tokens.
   * Default: none. `@sluice/core/retry` has none.
   */
  budget?: 'none' | Share | Budget;
}

/** What bounds the further attempts of all calls together. */
export type Budget =
  | {
      /** Further attempts for each first attempt, `0%` to `1000%`. */
      ratio: Share;
      /** So many are granted at any load. Default `10/s`. */
      minimum?: Rate;
      /** The time over which both are counted. Default `10s`. */
      window?: Duration;
    }
  | {
      /** Tokens of a full bucket, as in the AWS SDKs: 1 to 1,000,000. */
      tokens: number;
      /** What a further attempt takes. Default 5. */
      retry?: number;
      /** What a retry after a timeout takes. Default 10. */
      timeout?: number;
      /** What an attempt that took nothing returns when it succeeds. Default 1. */
      refund?: number;
    }
  | {
      /** Tokens of a full bucket, as in gRPC: 1 to 1,000. An attempt that fails takes one; none is granted from one half down. */
      max_tokens: number;
      /** What an attempt that succeeds returns, in tokens: 0.001 to 1,000. */
      token_ratio: number;
    }
  | {
      /** The time over which ends of attempts are counted, for a number of retries that follows the share of failures. */
      adaptive: Duration;
      /** The share of failures above which a call has one retry. Default `50%`. */
      one_above?: Share;
      /** The share of failures above which it has two. Default `20%`. */
      two_above?: Share;
      /** After a longer wait of the attempt it has none. Default `2s`. */
      wait?: Duration;
    };

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
