import type { CircuitBreakerOptions } from './breaker.js';
import type { BulkheadOptions } from './bulkhead.js';
import type { RateLimiterOptions } from './limiter.js';
import type { RetryOptions } from './retry-options.js';
import type { Duration, Rate } from './types.js';

/** What a step keeps cells for: a cell for each value. */
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

/** Settings that stand inside those of a step. */
export interface StepSettings {
  /** Unique in the policy. Default: the mechanism, then `limit-2` for the second limit, and so on. */
  name?: string;
  /** Decides and enforces nothing. Default false. */
  shadow?: boolean;
  /** A cell for each value, or each combination of values. Default: one for all. */
  per?: Attribute | readonly Attribute[];
  /** How far cells reach. Default `local`: this process. */
  scope?: 'local';
}

type Settings<O> = Omit<O, 'clock' | 'outcome' | 'retryAfter' | 'maxKeys'> & StepSettings;

/** A step of a policy: a mechanism and its settings. */
export type Step =
  | { limit: Rate | Settings<RateLimiterOptions> }
  | { breaker: Settings<CircuitBreakerOptions> }
  | { bulkhead: number | Settings<BulkheadOptions> }
  | { retry: number | (Settings<RetryOptions> & { methods?: string | readonly string[] }) }
  | { timeout: Duration | (StepSettings & { after: Duration; soft?: Duration }) };

/** What an answer of HTTP means: statuses, hundreds of them, errors of the network. */
export type HttpClass = readonly (number | `${1 | 2 | 3 | 4 | 5}xx` | 'connect' | 'reset' | 'timeout')[];

/** A policy. */
export interface Policy {
  /** Outermost first: a call passes them from the top down. At most 16, one of them a retry. */
  steps: readonly Step[];
  /** What a caller gets in place of a refusal or a failure. Default: none. */
  fallback?: { status?: number; body?: string };
  /** What answers mean, for HTTP. Default `{ fail: ['5xx', 'connect', 'reset'], throttle: [429], ignore: ['4xx'] }`. */
  outcomes?: { fail?: HttpClass; throttle?: HttpClass; ignore?: HttpClass };
}

/** A document: policies by name. */
export interface PolicyDocument {
  version: 1;
  policies: { [name: string]: Policy };
  /** For proxies; not read here. */
  routes?: unknown;
  /** For editors; not read here. */
  $schema?: string;
}
