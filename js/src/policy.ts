import type { CircuitBreakerOptions } from './breaker.js';
import type { BulkheadOptions } from './bulkhead.js';
import type { RateLimiterOptions } from './limiter.js';
import type { RetryOptions } from './retry-options.js';
import type { Duration, Rate, Share } from './types.js';

/** An attribute of calls: a step has a cell for each of its values. */
export type Attribute =
  | 'key'
  | 'ip'
  | 'host'
  | 'method'
  | 'path'
  | 'route'
  | `header:${string}`
  | `cookie:${string}`
  | `query:${string}`;

/** Settings that every mechanism of a step has. */
export interface StepSettings {
  /** Unique in the policy. Default: the mechanism, then `limit-2` for the second limit, and so on. */
  name?: string | undefined;
  /** Decides and enforces nothing. Default false. */
  shadow?: boolean | undefined;
  /** A cell for each value, or each combination of values. Default: one for all. */
  per?: Attribute | readonly Attribute[] | undefined;
  /** The greatest number of values with a cell of their own, beside `per`: 1 to 10,000,000. Default 100,000. */
  keys?: number | undefined;
  /**
   * What happens to a new value above `keys`: it evicts the least recently used value
   * at which no call waits or holds anything, or shares one cell with all other new
   * values. Default `evict`.
   */
  when_full?: 'evict' | 'share' | undefined;
  /**
   * What happens to a call without a value for an attribute of `per`: all such calls
   * share a cell, it is refused, or it skips the step. Default `share`.
   */
  missing?: 'share' | 'deny' | 'skip' | undefined;
  /** How far cells reach. Default `local`: this process. */
  scope?: 'local' | undefined;
}

type Settings<O> = Omit<O, 'clock' | 'outcome' | 'retryAfter'> & StepSettings;

/** The methods of HTTP for which something is done. Default: the idempotent ones. */
export type Methods = string | readonly string[];

/** Settings of a hedge: another attempt starts while one still runs, and the first good result is taken. */
export type HedgeOptions = {
  /** The most additional attempts of a round, 1 to 10. Default 1. */
  max?: number | undefined;
  /** How many additional attempts all calls may have together. Default: the retry's budget, if there is one. */
  budget?: 'none' | Share | { ratio: Share; minimum?: Rate; window?: Duration };
  /** For which methods `resilientFetch` starts additional attempts. Default: the idempotent ones. */
  methods?: Methods | undefined;
} & (
  | {
      /** The delay from the admission of an attempt to the start of the next, or a percentile of past durations. */
      after: Duration | `p${number}`;
      /** The durations of past attempts that a percentile is taken of. Default 100. */
      samples?: number;
      /** Durations that must be known before a percentile starts anything. Default: the lesser of 20 and the samples. */
      minimum?: number;
      parallel?: false;
    }
  | {
      /** All attempts of a round start at once. */
      parallel: true;
    }
);

/** Settings of an adaptive limit of concurrency: it rises with timely successes and falls with failures. */
export interface AdaptiveOptions {
  /** The limit at first. Default 20, or the bound next to it. */
  initial?: number | undefined;
  /** The lowest limit. Default 1. */
  minimum?: number | undefined;
  /** The highest limit. Default 200, or the greater of the two others above that. */
  maximum?: number | undefined;
  /** What the limit gains by as many timely successes as it has places. Default 1. */
  increase?: number | undefined;
  /** The share of the limit that a failure takes. Default `10%`. */
  decrease?: Share | undefined;
  /** A success that took longer counts as a failure. Default `5s`. */
  over?: Duration | undefined;
}

/** A step of a policy: a mechanism and its settings. */
export type Step =
  | { limit: Rate | Settings<RateLimiterOptions> }
  | { breaker: Settings<CircuitBreakerOptions> }
  | { bulkhead: number | Settings<BulkheadOptions> }
  | { retry: number | (Settings<RetryOptions> & { methods?: Methods }) }
  | { hedge: HedgeOptions & StepSettings }
  | { adaptive: AdaptiveOptions & StepSettings }
  | { timeout: Duration | (StepSettings & { after: Duration; soft?: Duration }) };

/** What an answer of HTTP means: statuses, hundreds of them, errors of the network. */
export type HttpClass = readonly (number | `${1 | 2 | 3 | 4 | 5}xx` | 'connect' | 'reset' | 'timeout')[];

/** A policy. */
export interface Policy {
  /** Outermost first: a call passes them from the top down. At most 16, one of them a retry and one a hedge. */
  steps: readonly Step[];
  /** The answer that a caller gets in place of a refusal or a failure. Default: none. */
  fallback?: { status?: number; body?: string };
  /** What answers mean, for HTTP. Default `{ fail: ['5xx', 'connect', 'reset'], throttle: [429], ignore: ['4xx'] }`. */
  outcomes?: { fail?: HttpClass; throttle?: HttpClass; ignore?: HttpClass };
}

/** A document: policies by name. */
export interface PolicyDocument {
  version: 1;
  policies: { [name: string]: Policy };
  /** For proxies; not read here. */
  routes?: unknown | undefined;
  /** For servers; not read here. */
  http?: unknown | undefined;
  /** For proxies; not read here. */
  proxy?: unknown | undefined;
  /** For editors; not read here. */
  $schema?: string;
}
