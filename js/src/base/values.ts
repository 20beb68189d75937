// The values of settings.

import type { Duration, Rate, Share } from './types.js';

/** A backoff: how a delay grows with the number of the attempt. */
export type Backoff =
  | { constant: Duration }
  | { linear: Duration; max?: Duration }
  | {
      exponential: Duration;
      /** From 1 to 1000. Default 2. */
      factor?: number;
      /** Cuts every delay, before its jitter. Default `1m`. */
      max?: Duration;
    }
  | { fibonacci: Duration; max?: Duration }
  | { decorrelated: Duration; max?: Duration }
  /** The first delay, the second one, and so on: 1 to 16; `0s` is allowed in a retry. The last one repeats. */
  | { delays: readonly Duration[] };

/** What randomness does to a delay d: from 0 to d, from d/2 to d, or from d - 20% to d + 20%. */
export type Jitter = 'none' | 'full' | 'equal' | Share;

/** How long blocks last: the n-th in a row as long as the n-th delay of a backoff. */
export type BlockTime = Duration | Exclude<Backoff, { decorrelated: Duration }>;

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

/** An attribute of calls that has a number. */
export type CostAttribute = `header:${string}` | `cookie:${string}` | `query:${string}`;

/** What a call takes at a step: a number, the attribute that has it, or an attribute and a number for calls without. */
export type Cost = number | CostAttribute | { attribute: CostAttribute; default?: number | undefined };

/** The methods of HTTP for which something is done. Default: the idempotent ones. */
export type Methods = string | readonly string[];
