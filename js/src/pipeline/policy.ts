import type { CommonOptions, Share } from '../base/types.js';
import type { Attribute } from '../base/values.js';
import type {
  BulkheadSettings,
  HedgeSettings,
  LimitSettings,
  MechanismStep,
  RetrySettings,
} from '../generated/settings.js';

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

/** What a bulkhead has beside `BulkheadOptions` in a policy. */
export type BulkheadStepOptions = Pick<BulkheadSettings, 'cost'>;

/** What a retry has beside `RetryOptions` in a policy. */
export type RetryStepOptions = Pick<RetrySettings, 'methods' | 'refusals'>;

/** Settings of a limit in a policy. */
export interface LimitOptions extends CommonOptions, LimitSettings {}

/** How an attempt, or a call, may end. */
export type CountedOutcome = Extract<LimitSettings['counts'], string>;

/** Settings of a hedge, which says when the next attempt starts, or that all attempts of a round start at once. */
export type HedgeOptions = Omit<HedgeSettings, 'after' | 'parallel' | 'samples' | 'minimum'> &
  (
    | (Required<Pick<HedgeSettings, 'after'>> &
        Pick<HedgeSettings, 'samples' | 'minimum'> & { parallel?: false })
    | { parallel: true }
  );

/** A step of a policy: a mechanism and its settings. */
export type Step =
  | Exclude<MechanismStep<StepSettings>, { hedge: unknown }>
  | { hedge: HedgeOptions & StepSettings }
  | { use: string | Use };

/** A step that uses one of the `mechanisms` of its document, and has its state together with steps of other policies. */
export interface Use {
  /** The name of the mechanism. */
  mechanism: string;
  /** Unique in the policy. Default: the name of the mechanism. */
  name?: string | undefined;
  /** Decides and enforces nothing. Default: the default of the mechanism, which is false. */
  shadow?: boolean | undefined;
  /** For people. It changes no decision. */
  description?: string | undefined;
}

/** A step that uses no mechanism of its document. */
export type PlainStep = Exclude<Step, { use: unknown }>;

/** What an answer of HTTP means: statuses, hundreds of them, errors of the network. */
export type HttpClass = readonly (number | `${1 | 2 | 3 | 4 | 5}xx` | 'connect' | 'reset' | 'timeout')[];

/** The parts of a type, each of which may be left out; of a union, the parts of each of its types. */
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
  /** The calls that are refused at once, calls of `allow` included, with the reason `denied`. Default: none. */
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
 * A document or a policy whose types are as wide as the types of an `import` of JSON: its version is any number, or its
 * steps are a list of any length. What is written in code has narrower types, and is checked.
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
