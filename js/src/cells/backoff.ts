import type { Duration, Share } from '../base/types.js';

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
