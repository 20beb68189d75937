import type { Duration, LimitRate, Share } from '../base/types.js';
import type { CircuitBreakerOptions } from '../cells/breaker.js';
import type { BulkheadOptions } from '../cells/bulkhead.js';
import type { RateLimiterOptions } from '../cells/limiter.js';
import type { Budget, RetryOptions } from '../cells/retry-options.js';

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

/** Attributes and their values: a text, or a list of which one must match. */
type Values = { [A in Attribute]?: string | readonly string[] | undefined };

/** Attributes and values that a call must match, all of them; of those in `not` none may match. Values of `ip` may be prefixes. */
export type ConditionCase = Values & { not?: Values | undefined };

/** A condition on calls: one case, or several of which one must match. */
export type Condition = ConditionCase | readonly ConditionCase[];

/** Settings that every mechanism of a step has. */
export interface StepSettings {
  /** Unique in the policy. Default: the mechanism, then `limit-2` for the second limit, and so on. */
  name?: string | undefined;
  /** Decides and enforces nothing. Default false. */
  shadow?: boolean | undefined;
  /** The calls that the step applies to: others pass it as if it were not there. Default: all. */
  when?: Condition | undefined;
  /**
   * The share of the calls that the step enforces for; for the others it is in shadow. `by` names the attribute whose value
   * decides, the same for all calls of a value; without it each call is drawn by itself. Default: all.
   */
  enforce?: Share | { share: Share; by?: Attribute | undefined } | undefined;
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
  missing?: 'share' | 'deny' | 'skip' | 'deny-401' | 'deny-403' | undefined;
  /** How far cells reach. Default `local`: this process. */
  scope?: 'local' | undefined;
  /** For people. It changes no decision. */
  description?: string | undefined;
  /** For a step that takes no `defaults` of its document. */
  defaults?: false | undefined;
}

/** An attribute of calls that has a number. */
export type CostAttribute = `header:${string}` | `cookie:${string}` | `query:${string}`;

/** What a call takes at a step: a number, the attribute that has it, or an attribute and a number for calls without. */
export type Cost = number | CostAttribute | { attribute: CostAttribute; default?: number | undefined };

/** What a bulkhead has beside `BulkheadOptions` in a policy. */
export interface BulkheadStepOptions {
  /**
   * How many places a call takes: a number, the attribute that has it, or an attribute and the cost of a call whose value
   * is no whole number, 1 by default. Default 1.
   */
  cost?: Cost | undefined;
}

/** Settings of a limit in a policy. */
export interface LimitOptions extends RateLimiterOptions {
  /** The attribute whose value is the class of a call, beside `rates`. */
  class?: Exclude<Attribute, 'ip'> | undefined;
  /** The rate of each class, beside `class`: a call takes from the limit of its class, one of no class from that of `rate`. */
  rates?: { readonly [name: string]: LimitRate } | undefined;
  /**
   * How many permits a call takes here: a number, the attribute that has it, or an attribute and the cost of a call whose
   * value is no whole number, 1 by default. Default: the `cost` of the call.
   */
  cost?: Cost | undefined;
  /**
   * When the permits are taken: at the start; at the start, and settled at the end by what the attempt said that it
   * used; or at the end. Default `start`.
   */
  charge?: 'start' | 'settle' | 'end' | undefined;
  /**
   * The most permits that the end of one call takes beyond its cost, beside a `charge` of `settle` or `end`; what is more is
   * dropped, and told as `clamped`. Default: the greatest cost that the limit admits.
   */
  settle_max?: number | undefined;
  /** The outcomes that keep their permits; the permits of others come back at the end. Default: all. */
  counts?: CountedOutcome | readonly CountedOutcome[] | undefined;
}

/** How an attempt, or a call, may end. */
export type CountedOutcome = 'ok' | 'fail' | 'throttle' | 'ignore' | 'timeout' | 'cancel';

type Settings<O> = Omit<O, 'clock' | 'outcome' | 'retryAfter' | 'delay'> & StepSettings;

/** The methods of HTTP for which something is done. Default: the idempotent ones. */
export type Methods = string | readonly string[];

/** Settings of a hedge: another attempt starts while one still runs, and the first good result is taken. */
export type HedgeOptions = {
  /** The most additional attempts of a round, 1 to 10. Default 1. */
  max?: number | undefined;
  /** How many additional attempts all calls may have together. Default: the retry's budget, if there is one. */
  budget?: 'none' | Share | Budget;
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

/** Settings of an adaptive limit of concurrency: it rises while answers come in time and falls when many come late or not at all. */
export interface AdaptiveOptions {
  /** The limit at first. Default 20, or the bound next to it. */
  initial?: number | undefined;
  /** The lowest limit. Default 1. */
  minimum?: number | undefined;
  /** The highest limit. Default 200, or the greater of the two others above that. */
  maximum?: number | undefined;
  /** What the limit gains by a good round of calls, at least. Default 1. */
  increase?: number | undefined;
  /** The share of the limit that a bad round takes, at least. Default `10%`. */
  decrease?: Share | undefined;
  /** The share of late answers and timeouts above which a round is bad, at most `50%`. Default `15%`. */
  tolerance?: Share | undefined;
  /**
   * A success that took longer is late: a duration, or a share of the time that the attempt has to deadlines and timeouts.
   * Default `60%`, or `5s` where there is none.
   */
  over?: Duration | Share | undefined;
  /** Frees the places of a call that neither ended nor renewed them for so long. Default: none. */
  lease?: Duration | undefined;
  /**
   * How many places a call takes: a number, the attribute that has it, or an attribute and the cost of a call whose value
   * is no whole number, 1 by default. Default 1.
   */
  cost?: Cost | undefined;
}

/** Settings of chaos: failures and latency that are injected into a share of the attempts. It is the last step. */
export interface ChaosOptions {
  /** The attempts that fail without running the function. Default `0%`. */
  fail?: Share | undefined;
  /** The attempts that are throttled without running it, and the delay that they ask for before the next attempt. */
  throttle?: { rate: Share; retry_after?: Duration } | undefined;
  /** The attempts that end as `ignore` without running it. Default `0%`. */
  ignore?: Share | undefined;
  /** The attempts whose function starts later, by `by`, or by a time from `by` to `to`. */
  slow?: { rate: Share; by: Duration; to?: Duration } | undefined;
}

/** What a retry has beside `RetryOptions` in a policy. */
export interface RetryStepOptions {
  /** The methods that HTTP runtimes repeat. */
  methods?: Methods;
  /** What a refusal by a step below does: it ends the call, or the call waits for its time. Default `end`. */
  refusals?: 'end' | 'wait' | undefined;
}

/** A step of a policy: a mechanism and its settings. */
export type Step =
  | { limit: LimitRate | Settings<LimitOptions> }
  | { breaker: Settings<CircuitBreakerOptions> }
  | { bulkhead: number | (Settings<BulkheadOptions> & BulkheadStepOptions) }
  | { retry: number | (Settings<RetryOptions> & RetryStepOptions) }
  | { hedge: HedgeOptions & StepSettings }
  | { adaptive: AdaptiveOptions & StepSettings }
  | { chaos: ChaosOptions & StepSettings }
  | { timeout: Duration | (StepSettings & { after: Duration; soft?: Duration }) }
  | { use: string | Use };

/** A step that uses one of the `mechanisms` of its document, and has its state together with steps of other policies. */
export interface Use {
  /** The name of the mechanism. */
  mechanism: string;
  /** Unique in the policy. Default: the name of the mechanism. */
  name?: string | undefined;
  /** Decides and enforces nothing. Default: that of the mechanism, which is false. */
  shadow?: boolean | undefined;
  /** For people. It changes no decision. */
  description?: string | undefined;
}

/** A step that uses no mechanism of its document. */
export type PlainStep = Exclude<Step, { use: unknown }>;

/** What an answer of HTTP means: statuses, hundreds of them, errors of the network. */
export type HttpClass = readonly (number | `${1 | 2 | 3 | 4 | 5}xx` | 'connect' | 'reset' | 'timeout')[];

/** The parts of a type, each of which may be left out; of a union, those of each of its types. */
type PartOf<V> = V extends object ? Partial<V> : V;

/** A step whose settings may be incomplete. */
type StepPart<S = Step> = S extends object ? { [M in keyof S]: PartOf<S[M]> } : never;

/** A further step, and where it is: below all others where nothing is said. */
type Added<S> = S & ({ before?: string; after?: undefined } | { before?: undefined; after?: string });

/** What each of several exclusive forms has of the others. */
type Without<K extends string> = { [N in K]?: undefined };

/** What is in every policy. */
interface PolicyParts {
  /** The calls that pass without any step. Default: none. */
  allow?: Condition | undefined;
  /** The calls that are refused at once, those of `allow` included, with the reason `denied`. Default: none. */
  deny?: Condition | undefined;
  /** For people. It changes no decision. */
  description?: string | undefined;
  /** The answer that a caller gets in place of a refusal or a failure. Default: none. */
  fallback?: { status?: number; body?: string };
  /** What answers mean, for HTTP. Default `{ fail: ['5xx', 'connect', 'reset'], throttle: [429], ignore: ['4xx', 501, 505, 511] }`. */
  outcomes?: { fail?: HttpClass; throttle?: HttpClass; ignore?: HttpClass };
}

/** A policy with steps. */
export interface SteppedPolicy<S>
  extends PolicyParts,
    Without<'pass' | 'extends' | 'remove' | 'change' | 'add'> {
  /** Outermost first: a call passes them from the top down. At most 16, one of them a retry and one a hedge. */
  steps: readonly S[];
}

/** A policy that lets every call pass. */
export interface PassingPolicy
  extends PolicyParts,
    Without<'steps' | 'extends' | 'remove' | 'change' | 'add'> {
  pass: true;
}

/** A policy that is another one of its document with changes: steps are removed, then changed, then added. */
export interface ExtendingPolicy<S> extends PolicyParts, Without<'steps' | 'pass'> {
  /** The name of the other policy. */
  extends: string;
  /** Names of steps that it does not have. */
  remove?: string | readonly string[] | undefined;
  /** Steps with other settings, found by their names. Settings that are left out stay as they are. */
  change?: readonly StepPart[] | undefined;
  /** Further steps. */
  add?: readonly Added<S>[] | undefined;
}

/** A policy. */
export type Policy = SteppedPolicy<Step> | PassingPolicy | ExtendingPolicy<Step>;

/** The steps of a policy that extends none. */
export const stepsOf = ({ steps = [] }: Policy): readonly Step[] => steps;

const namesIn = (condition: unknown): string[] =>
  [condition]
    .flat()
    .flatMap((one) =>
      Object.entries(Object(one) as object).flatMap(([name, value]) =>
        name === 'not' ? namesIn(value) : [name],
      ),
    );

/** The attributes that the steps of a policy have cells per, and that its conditions name. */
export const attributesIn = (policy: Policy): string[] => [
  ...namesIn(policy.allow),
  ...namesIn(policy.deny),
  ...stepsOf(policy).flatMap((step) => {
    const { per, when, enforce, class: of } = Object(Object.values(step)[0]) as LimitOptions & StepSettings;
    const by = typeof enforce === 'object' ? enforce.by : undefined;
    return [...[per ?? []].flat(), ...[of ?? []].flat(), ...[by ?? []].flat(), ...namesIn(when)];
  }),
];

/** What `missing` of a step says, by the name of the step. */
export function missingOf(policy: Policy, step: string): StepSettings['missing'] {
  const counts = new Map<string, number>();
  for (const one of stepsOf(policy)) {
    const [kind = '', settings] = Object.entries(one)[0] ?? [];
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const {
      name = count > 1 ? `${kind}-${count}` : kind,
      missing,
      rates,
    } = Object(settings) as StepSettings & {
      rates?: object;
    };
    // A limit with classes is a step for each of them.
    if ([name, ...Object.keys(rates ?? {}).map((of) => `${name}-${of}`)].includes(step)) return missing;
  }
  return undefined;
}

/** Settings by mechanism that every step of it takes where it leaves them out. */
export type Defaults = {
  [M in MechanismOf<PlainStep>]?: DefaultsOf<Extract<PlainStep, { [K in M]: unknown }>[M]>;
};
type MechanismOf<S> = S extends object ? keyof S : never;
type DefaultsOf<V> = V extends object
  ? Partial<V> & Without<'name' | 'when' | 'enforce' | 'description' | 'defaults'>
  : V;

/** The sections of a document beside its policies. */
export interface Sections {
  version: 1;
  /** For proxies; not read here. */
  routes?: unknown | undefined;
  /** For servers; not read here. */
  http?: unknown | undefined;
  /** For proxies; not read here. */
  proxy?: unknown | undefined;
  /** For editors; not read here. */
  $schema?: string;
}

/**
 * A document or a policy whose types are as wide as those of an `import` of JSON: its version is any number, or its steps
 * are a list of any length. What is written in code has narrower types, and is checked.
 */
export type Imported<D> = D extends { readonly version: infer V }
  ? number extends V
    ? D
    : never
  : D extends { readonly steps: infer S extends readonly object[] }
    ? number extends S['length']
      ? D
      : never
    : never;

/** A document: policies by name. Beside `defaults` their steps may leave out required settings. */
export type PolicyDocument = Sections &
  (
    | {
        defaults?: undefined;
        /** Mechanisms by name, which steps of several policies use. */
        mechanisms?: { [name: string]: PlainStep } | undefined;
        policies: { [name: string]: Policy };
      }
    | {
        defaults: Defaults;
        mechanisms?: { [name: string]: StepPart<PlainStep> } | undefined;
        policies: { [name: string]: SteppedPolicy<StepPart> | PassingPolicy | ExtendingPolicy<StepPart> };
      }
  );
