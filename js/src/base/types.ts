import type { KINDS, MODES, OUTCOMES, REASONS } from '../generated/abi.js';

type Unit = 'ns' | 'us' | 'µs' | 'ms' | 's' | 'm' | 'h' | 'd';

/** A duration: numbers, each with its unit, as in `250ms`, `1m30s` or `1d12h`. */
export type Duration = `${number}${Unit}` | `${number}${'d' | 'h' | 'm' | 's'}${number}${Unit}`;

/** A rate: a count and a duration, as in `50/1m`, `50/m` or `1000/1h`. */
export type Rate = `${number}/${Unit | Duration}`;

/** The rate of a limit: also by the calendar, as in `1000/day`, `1000/week` or `1000/month`. */
export type LimitRate = Rate | `${number}/${'day' | 'week' | 'month'}`;

/** A share, as in `50%` or `0.5%`. */
export type Share = `${number}%`;

/** The outcome of an attempt. `throttle`: the dependency refused by a limit of its own. */
export type Outcome = 'ok' | 'fail' | 'throttle' | 'ignore';

/** Why a policy refused, or a retry gave up; `stopped` after `stop()` of a pipeline. */
export type Reason = Exclude<(typeof REASONS)[number], ''> | 'stopped';

/** The state of a circuit breaker. */
export type BreakerState = (typeof MODES)[number];

/** A refusal, as a value. */
export interface Rejection {
  readonly ok: false;
  /** The step that refused: its name, or the name of the mechanism. */
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

/** What a limit has left. */
export interface Quota {
  /** The name of the step. */
  readonly step: string;
  /** The most permits that can be free. */
  readonly limit: number;
  /** The permits that are free now. */
  readonly remaining: number;
  /** In how many milliseconds one permit is free; 0 where one is. */
  readonly next: number;
  /** In how many milliseconds all permits are free, if none is taken; 0 where all are. */
  readonly reset: number;
  /** Its rate: so many permits in so many milliseconds. */
  readonly rate: readonly [permits: number, period: number];
}

/** An admission by a limiter, as a value. */
export interface LimiterAdmission extends Admission {
  /** The permits that are free when this is read: right after the admission, those that it left. */
  readonly remaining: number;
  /** In how many milliseconds all permits are free, if none is taken, as `remaining`. */
  readonly reset: number;
}

/** The answer of a limiter. */
export type Verdict = LimiterAdmission | Rejection;

/** The result of a call that was not refused, with its value. */
export interface Success<T> {
  readonly ok: true;
  readonly value: T;
}

/** A decision, with the names of the decision log. */
export interface Decision {
  /** The kind of decision; `change` for a new state of a circuit breaker. */
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
  /** How a call ended; of an `inject` the result, where it is no latency. */
  readonly outcome?: Exclude<(typeof OUTCOMES)[number], ''>;
  /** When a wait, a backoff or injected latency ends, in milliseconds of the clock, where it is known. */
  readonly until?: number;
  /** Of a `retry`, the backoff in milliseconds: from now until the next attempt. */
  readonly delay?: number;
  /** The attempt whose result the call has, under a hedge. */
  readonly won?: number;
  /** Of a refusal or an injected result, in milliseconds, where it is known. */
  readonly retryAfter?: number;
  /** Of a `clamped`, how many permits the call used and the limit did not take. */
  readonly dropped?: number;
  /** Of an `end`, how long the call took, in milliseconds. */
  readonly duration?: number;
  /** What the attempt threw, of a `retry`, a `failed` and an `end`; the error of a cut for a timeout. */
  readonly error?: unknown;
  /** The new state of a circuit breaker. */
  readonly state?: BreakerState;
  /** Of a `timeout`: the soft limit of the step has passed, and nothing is cut. */
  readonly soft?: true;
  /** The step is in shadow mode: nothing was enforced. */
  readonly shadow?: true;
  /** The policy, or the program, has a fallback for this. */
  readonly fallback?: true;
}

/** The argument of a function that runs under a policy. */
export interface Attempt {
  /** The number of the attempt, from 1. Under a hedge attempts are numbered as they start. */
  readonly attempt: number;
  /**
   * Whether a hedge started it beside another attempt of the call. It may then do
   * something different, for example ask another replica.
   */
  readonly hedge: boolean;
  /** What the attempt threw that ended before this one began; undefined for none. */
  readonly lastError: unknown;
  /** The milliseconds since the call began, waits included; undefined under a mechanism alone but a timeout or a hedge. */
  readonly elapsed: number | undefined;
  /**
   * When the attempt is cut at the latest, in milliseconds of the clock: by the `deadline` of the call, or by a timeout of
   * the policy; undefined for never, and under a mechanism alone but a timeout or a hedge. A timeout below the retry counts from the beginning of the
   * attempt, its waits included. Timeouts with `when` or `enforce` are not in it.
   */
  readonly deadline: number | undefined;
  /**
   * Aborted when the caller cancels, a timeout cuts the attempt or another attempt
   * wins, with the caller's reason, a `TimeoutError` or a `HedgeLostError`. Created on
   * first use.
   */
  readonly signal: AbortSignal;
  /**
   * Says how many permits the attempt has used so far, as the tokens of an answer. The last number before its end counts,
   * at limits with `charge: settle` or `charge: end`.
   */
  used(permits: number): void;
  /** Restarts the leases of the bulkhead places that the attempt holds. */
  renew(): void;
}

/** A function that runs under a policy. */
export type Task<T> = (attempt: Attempt) => T | PromiseLike<T>;

/** Options of any call. */
export interface CallOptions {
  /** Cancels the call: it frees its place and rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of a call that costs permits. */
export interface CostOptions extends CallOptions {
  /**
   * How many permits it takes, a whole number, or how many places of a bulkhead. Default 1. 0 passes a limit at once and
   * takes nothing; at a bulkhead it counts as 1.
   */
  cost?: number | undefined;
}

/** A source of time with timers. */
export interface Clock {
  /** Milliseconds on a monotonic line. It must not jump as wall time does. */
  now(): number;
  /** Milliseconds since 1970, which snapshots keep. Default: `Date.now()`. */
  wall?(): number;
  /**
   * Calls back once, after so many milliseconds. Where what it returns has the methods
   * `ref` and `unref`, as in Node, they are called when a caller begins to wait and
   * when none waits any more.
   */
  setTimeout(callback: () => void, milliseconds: number): unknown;
  /** Forgets a callback. */
  clearTimeout(timer: unknown): void;
}

/**
 * Whose memory an object uses. `shared`: the memory of all objects that name no other. `own`: an instance of the module
 * for this object alone, which no other one can fill; with a limit in bytes, 4 MiB to 512 MiB (default 256 MiB).
 */
export type InstanceOption = 'shared' | 'own' | { readonly limit: number };

/** Options of every mechanism besides its own settings. */
export interface CommonOptions {
  /** The name in decisions and snapshots. Default: the mechanism. */
  name?: string | undefined;
  /** Decides and emits, and enforces nothing. Default false. */
  shadow?: boolean | undefined;
  /** The clock. Default: the monotonic clock of the runtime. */
  clock?: Clock | undefined;
  /** Gives a `RejectedError` a stack, which takes some microseconds. Default false. */
  stack?: boolean | undefined;
  /** Whose memory it uses. Default `shared`: the memory of all objects that name no other. */
  instance?: InstanceOption | undefined;
}

/** Classifies the results of a function. */
export interface Classifier {
  /**
   * Returns the outcome of a result: of the error of a function that threw or rejected,
   * else of undefined and its value. Default: a value is `ok`, a refusal by an inner
   * policy is `throttle`, what an inner policy injected what it says, any other error is `fail`. Where the function throws, or
   * returns no outcome (nothing, a promise, another word), the default holds, and that is printed once.
   */
  outcome?: ((error: unknown, value: unknown) => Outcome) | undefined;
}

/** What a `delay` gets of the attempt that ended. */
export interface EndedAttempt {
  /** The number of the attempt in its call, from 1 on. */
  readonly attempt: number;
  /** What the function threw, undefined for a value. */
  readonly error: unknown;
  /** What the function returned, undefined for an error. */
  readonly value: unknown;
}

/** Gives the delay before a retry. */
export interface DelayReader {
  /**
   * Returns the least delay before the next attempt in milliseconds, after an attempt that failed or was throttled. The next one
   * starts after the longest of this delay, the delay of the `backoff`, and the retry delay of the result; a deadline
   * that it reaches ends the call, and a result that asks for no further attempt is not overruled. Negative values, NaN
   * and what is no number count as 0, as does a function that throws; what is no number and an error are printed once.
   * Where a timeout of the policy cut the attempt it is not asked. Default: none.
   */
  delay?: ((ended: EndedAttempt) => number) | undefined;
}

/** Reads the retry delay of a result. */
export interface RetryAfterReader {
  /**
   * Returns the retry delay of a result in milliseconds, a lower bound of the delay
   * before the next attempt. Negative: no further attempt. Undefined, NaN, and an error or another value, which are printed once:
   * it does not say. Default, and for a refusal by an inner policy of which it does not say: the number in the property
   * `retryAfter` of the error, and no further attempt after a refusal for which waiting does not help.
   */
  retryAfter?: ((error: unknown, value: unknown) => number | undefined) | undefined;
}
