import type { Duration, Rate, Share } from '../base/types.js';
import type { Policy } from '../pipeline/policy.js';

/** A distribution; `Q` is what is drawn. A plain value is drawn always. */
export type Distribution<Q = Duration> =
  | Q
  | { constant: Q }
  | { exponential: Q }
  | { uniform: readonly [Q, Q] }
  | { lognormal: { median: Q; sigma: number } }
  | { pareto: { scale: Q; shape: number } }
  | { erlang: { mean: Q; k: number } }
  | { hyperexponential: readonly (readonly [weight: number, mean: Q])[] };

/** How the values of a key or an attribute are drawn. A plain text is drawn always. */
export type Values =
  | string
  | { uniform: number }
  | { zipf: { n: number; s: number } }
  | { weights: { [value: string]: number } };

type Open =
  | { poisson: Rate }
  | { constant: Rate }
  | { ramp: { from: Rate; to: Rate } }
  | { gaps: Distribution }
  | { bursts: { size: number; every: Distribution } };

/** One process that makes calls. */
export interface ScenarioClient {
  name: string;
  /** The name of a service. */
  to: string;
  arrivals:
    | Open
    | { closed: { users: number; think: Distribution } }
    | { steps: readonly (Open & { for: Duration })[] };
  /** The name of a policy. Default `none`. */
  policy?: string;
  key?: Values;
  attributes?: { [attribute: string]: Values };
  cost?: Distribution<number>;
  deadline?: Duration;
  patience?: Distribution;
  repeats?: { times: number; wait?: Distribution };
  clock?: readonly ({ at: Duration } & ({ forward: Duration } | { back: Duration }))[];
}

/** What happens to a service for a while. */
export interface Fault {
  at?: Duration;
  for?: Distribution;
  every?: Distribution;
  slow?: number;
  fail?: Share;
  throttle?: Share;
  retry_after?: Duration;
  servers?: number;
  pause?: boolean;
  flush?: boolean;
  restart?: boolean;
}

/** What answers calls. */
export interface ScenarioService {
  name: string;
  time: Distribution;
  servers?: number;
  queue?: number;
  fail?: Share;
  abandon?: boolean;
  policy?: string;
  calls?: readonly { to: string; policy?: string }[];
  parallel?: boolean;
  cache?: { hit: Distribution; for?: Duration };
  warm_up?: { for: Duration; slow: number };
  drift?: { every: Duration; sigma: number; correlation: number };
  faults?: readonly Fault[];
}

/** A scenario, as `sluice simulate` reads it. `sim/REFERENCE.md` in the repository describes the settings. */
export interface Scenario {
  version: 1;
  $schema?: string;
  description?: string;
  /** Default 1. */
  seed?: number;
  duration: Duration;
  /** What begins before it is simulated and not counted. Default `0s`. */
  warmup?: Duration;
  policies?: { [name: string]: Policy };
  clients: readonly ScenarioClient[];
  services: readonly ScenarioService[];
}

/** Whether the calls went on well. */
export type SimulationVerdict = 'steady' | 'recovered' | 'degraded' | 'metastable';

/** Durations in seconds. */
export interface Latency {
  mean: number;
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
}

/** What the calls of a client came to. Times are seconds, shares are from 0 to 1. */
export interface ClientResult {
  verdict: SimulationVerdict;
  calls: number;
  ok: number;
  failed: number;
  refused: number;
  /** Not over at the end. */
  unfinished: number;
  attempts: number;
  /** By step and reason, as in `breaker:open`. */
  refusals: { [stepAndReason: string]: number };
  latency: Latency;
  /** Calls a second that ended ok. */
  goodput: number;
  /** Attempts a call. */
  amplification: number;
  repeats: number;
  /** Jain's index of the keys' shares of ok calls. */
  fairness: number;
  /** From the end of the last fault; null without a recovery. */
  recovery: number | null;
  worst?: { call: number; at: number; latency: number; attempts: number };
  breakers: {
    [step: string]: { opened: number; first: number | null; delay: number | null; open: number };
  };
}

/** What a service did. */
export interface ServiceResult {
  arrived: number;
  served: number;
  dropped: number;
  refused: number;
  /** Served when the caller had given up. */
  wasted: number;
  utilization: number;
  in_system: number;
  wait: Latency;
}

/** What `sluice simulate --json` prints. */
export interface SimulationResult {
  seed: number;
  duration: number;
  counted: number;
  verdict: SimulationVerdict;
  clients: { [name: string]: ClientResult };
  services: { [name: string]: ServiceResult };
}
