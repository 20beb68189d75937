import type { KINDS, MODES, OUTCOMES, REASONS } from './abi.js';

type Unit = 'ns' | 'us' | 'µs' | 'ms' | 's' | 'm' | 'h' | 'd';

/** A duration: numbers, each with its unit, as in `250ms`, `1m30s` or `1d12h`. */
export type Duration = `${number}${Unit}` | `${number}${'d' | 'h' | 'm' | 's'}${number}${Unit}`;

/** A rate: a count and a duration, as in `50/1m`, `50/m` or `1000/1h`. */
export type Rate = `${number}/${Unit | Duration}`;

/** A share, as in `50%` or `0.5%`. */
export type Share = `${number}%`;

/** What the end of an attempt means. `throttle`: the dependency refused by a limit of its own. */
export type Outcome = 'ok' | 'fail' | 'throttle' | 'ignore';

/** Why a policy refused, or a retry gave up. */
export type Reason = Exclude<(typeof REASONS)[number], ''>;

/** The state of a circuit breaker. */
export type BreakerState = (typeof MODES)[number];

/** A refusal, as a value. */
export interface Rejection {
  readonly ok: false;
  /** The step that refused: its name, or that of the mechanism. */
  readonly step: string;
  /** Why; `timeout` where a timeout step cut the call. */
  readonly reason: Reason;
  /**
   * The least time in milliseconds after which the step would not refuse the
   * same call if nothing else happened; undefined where none is known.
   */
  readonly retryAfter: number | undefined;
}

/** An admission, as a value. */
export interface Admission {
  readonly ok: true;
}

/** What a limiter says. */
export type Verdict = Admission | Rejection;

/** What became of a call that was not refused, and its value. */
export interface Success<T> {
  readonly ok: true;
  readonly value: T;
}

/** A decision, in the words of the decision log. */
export interface Decision {
  /** What was decided; `change` for a new state of a circuit breaker. */
  readonly kind: Exclude<(typeof KINDS)[number], ''>;
  /** When, in milliseconds of the clock. */
  readonly at: number;
  /** The step that decided. */
  readonly step?: string;
  /** The key of the call or of the cell. */
  readonly key?: string;
  /** The attempt, from 1. */
  readonly attempt?: number;
  /** Why. */
  readonly reason?: Reason;
  /** How a call ended. */
  readonly outcome?: Exclude<(typeof OUTCOMES)[number], ''>;
  /** When a wait or a backoff ends, in milliseconds of the clock, where it is known. */
  readonly until?: number;
  /** The attempt whose result the call has, under a hedge. */
  readonly won?: number;
  /** Of a refusal, in milliseconds, where it is known. */
  readonly retryAfter?: number;
  /** The new state of a circuit breaker. */
  readonly state?: BreakerState;
  /** The step is in shadow mode: nothing was enforced. */
  readonly shadow?: true;
  /** The policy has a fallback for this. */
  readonly fallback?: true;
}

/** What a function that is run under a policy is told. */
export interface Attempt {
  /** The number of the attempt, from 1. Under a hedge attempts are numbered as they set out. */
  readonly attempt: number;
  /**
   * Whether it was started beside another attempt of the call, by a hedge. It may
   * do something else then, as to ask another replica.
   */
  readonly hedge: boolean;
  /**
   * Aborted when the caller gives up, a timeout cuts the attempt or another
   * attempt wins, with the caller's reason, a `TimeoutError` or a `HedgeLostError`.
   * Made when it is first asked for.
   */
  readonly signal: AbortSignal;
  /** Begins the leases of bulkheads anew that the attempt holds places of. */
  renew(): void;
}

/** A function that is run under a policy. */
export type Task<T> = (attempt: Attempt) => T | PromiseLike<T>;

/** What may be said about any call. */
export interface CallOptions {
  /** Gives the call up: it frees its place and rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** What may be said about a call that costs permits. */
export interface CostOptions extends CallOptions {
  /** How many permits it takes, a whole number. Default 1; 0 passes at once and takes nothing. */
  cost?: number | undefined;
}

/** Where time comes from, and who calls back. */
export interface Clock {
  /** Milliseconds on a monotonic line. It must not jump as wall time does. */
  now(): number;
  /** Calls back once, after so many milliseconds. */
  setTimeout(callback: () => void, milliseconds: number): unknown;
  /** Forgets a callback. */
  clearTimeout(timer: unknown): void;
}

/** What every mechanism takes besides its own settings. */
export interface CommonOptions {
  /** The name in decisions and snapshots. Default: the mechanism. */
  name?: string;
  /** Decides and emits, and enforces nothing. Default false. */
  shadow?: boolean;
  /** Where time comes from. Default: the monotonic clock of the runtime. */
  clock?: Clock;
}

/** Says what the result of a function means. */
export interface Classifier {
  /**
   * What a result means: the error of a function that threw or rejected, or else
   * undefined and its value. Default: a value is `ok`, a refusal by a policy
   * inside is `ignore`, any other error is `fail`.
   */
  outcome?: (error: unknown, value: unknown) => Outcome;
}

/** Says when an answer wants to be asked again. */
export interface RetryAfterReader {
  /**
   * The milliseconds that the result asks to wait before the next attempt: a
   * floor under the backoff. Negative: no further attempt. Default: the number
   * in the property `retryAfter` of the error.
   */
  retryAfter?: (error: unknown, value: unknown) => number | undefined;
}
