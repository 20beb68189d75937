import type { Clock } from '../base/types.js';
import { type Engine, Recent } from '../engine/engine.js';
import { dated } from '../engine/epoch.js';
import { STEP_DEADLINE, STEP_DENIED } from '../generated/abi.js';
import { MECHANISMS } from '../generated/mechanisms.js';
import { bytesOf, decode, textOf } from '../reader/bytes.js';
import { cost, notAlone } from '../reader/cost.js';
import { readDocument, readDocuments } from '../reader/document.js';
import { encode } from '../reader/encode.js';
import { type MechanismName, READERS } from '../reader/mechanisms.js';
import type { Node } from '../reader/node.js';
import { readKeys } from '../reader/per.js';
import { readPolicy } from '../reader/policy.js';
import { readSource as read, readAlone } from '../reader/read.js';
import type { ReadPolicy } from '../reader/result.js';
import { writtenValue } from '../reader/written.js';
import { type Conditions, conditionsOf } from './conditions.js';
import type { Keyed } from './keys.js';
import type { Policy, PolicyDocument, Step } from './policy.js';

/** The source of a plan: a document, the body of a policy, its steps alone; or the JSON of one of the first two. */
export type Source = PolicyDocument | Policy | readonly Step[] | string | Uint8Array;

/** A step of a plan. */
export interface PlanStep {
  readonly name: string;
  readonly mechanism: string;
  readonly shadow: boolean;
  /** The attributes that it has cells per. */
  readonly per: readonly string[];
  /** Its index in the policy as it was written, and the class of a limit that it is for, empty for none. */
  readonly at: number;
  readonly className: string;
  /** Whether steps of other policies may use its mechanism. */
  readonly shares: boolean;
}

/** A plan and the data that calls which began under it use. */
export interface Layout extends Keyed {
  readonly steps: readonly PlanStep[];
  /** The policy as it was written. */
  readonly policy: Policy;
  /** The steps whose cost an attribute has. */
  readonly priced: readonly { readonly index: number; readonly attribute: string }[];
  /** What it asks of the attributes of calls, undefined for nothing. */
  readonly conditions: Conditions | undefined;
  /** The timeouts that have a soft limit, in milliseconds; undefined for none. */
  readonly softs: readonly { readonly index: number; readonly soft: number }[] | undefined;
  /** The index of the hedge, -1 where the plan has none. */
  readonly hedge: number;
  /** The timeouts that cut every call, in milliseconds, and whether they count for each attempt anew. */
  readonly cuts: readonly { readonly again: boolean; readonly after: number }[];
}

/** A compiled source. */
export interface Plan {
  /** Its handle, valid until the next plan is compiled. */
  readonly handle: number;
  readonly layout: Layout;
  /** Whether a pipeline without calls has no state, so that others with equal plans may use its memory. */
  readonly stateless: boolean;
  /** Pipelines of this plan, without state, that are not used. */
  readonly idle: number[];
  /** Another plan has taken its place: the handles of its idle pipelines are freed. */
  dropped: boolean;
}

const recents = /* @__PURE__ */ new WeakMap<Engine, Recent<Plan>>();

function recentOf(engine: Engine): Recent<Plan> {
  let recent = recents.get(engine);
  if (!recent) {
    recent = new Recent<Plan>((plan) => {
      plan.dropped = true;
      for (const handle of [plan.handle, ...plan.idle]) engine.x.free(handle);
    });
    recents.set(engine, recent);
  }
  return recent;
}

/** A source that was read. Its plan is compiled when it is asked for, once for equal plans. */
export interface Text {
  readonly policy: Policy;
  readonly plan: () => Plan;
}

/**
 * Reads a source. The plan is compiled when it is asked for. `alone` is a mechanism that is the only step; `keyed` says
 * whether it has a cell for each key. Windows of the calendar follow the wall time of the clock; without one its 0 is
 * 1970. `covers` says that the program has a fallback, as if the policy had one.
 */
export function readSource(
  engine: Engine,
  source: Source,
  name: string | undefined,
  clock?: Clock,
  alone?: MechanismName,
  keyed = false,
  covers = false,
): Text {
  const given = Array.isArray(source) ? { steps: source } : source;
  const { policy, whole } = alone ? optionsOf(given as Policy, alone, keyed) : policyOf(given, name);
  const written = policy.plain ? undefined : writtenOf(given, whole, name);
  return textOfPolicy(engine, covers ? { ...policy, fallback: true } : policy, clock, written);
}

/** The text of a policy that was read, as it was written, which a plain one is in other words. */
function textOfPolicy(engine: Engine, policy: ReadPolicy, clock: Clock | undefined, written?: Policy): Text {
  const bytes = encode({ ...policy, steps: policy.steps.map((step) => dated(step, clock)) });
  const value = written ?? (writtenValue(policy.plain as Node) as Policy);
  // The bytes are what the core decides by: policies that differ in outcomes or in their answers may have the same.
  const plan = (): Plan =>
    recentOf(engine).take(`${bytes}\0${JSON.stringify(value)}`, () => compile(engine, bytes, policy, value));
  plan();
  return { policy: value, plan };
}

/** A policy of a document, and whether other ones may use a mechanism of it. */
export interface Part {
  readonly text: Text;
  readonly shares: boolean;
}

/** Reads all policies of a document. */
export function readSources(
  engine: Engine,
  source: Source,
  clock: Clock,
  covers: boolean,
): Map<string, Part> {
  const all = read(source, readDocuments);
  return new Map(
    [...all].map(([key, policy]): [string, Part] => {
      const name = textOf(key);
      const written = policy.plain ? undefined : writtenOf(source, true, name);
      const shares = policy.steps.some(({ shares, cells }) => shares && cells);
      const covered = covers ? { ...policy, fallback: true } : policy;
      return [name, { text: textOfPolicy(engine, covered, clock, written), shares }];
    }),
  );
}

interface Whole {
  readonly policy: ReadPolicy;
  /** Whether it is one of a whole document. */
  readonly whole: boolean;
}

/** Reads a document or the body of a policy. */
function policyOf(source: unknown, name = ''): Whole {
  return read(source, (problems, root) => {
    const whole = root.items.some(({ key }) => key === 'policies' || key === 'version');
    return {
      policy: whole ? readDocument(problems, root, bytesOf(name)) : readPolicy(problems, root),
      whole,
    };
  });
}

/** Reads the options of a mechanism that is the only step. */
function optionsOf({ steps: [step] = [] }: Policy, alone: MechanismName, keyed: boolean): Whole {
  const options = (step as { [name: string]: unknown })[alone];
  const mechanism = {
    mechanism: MECHANISMS[alone],
    readers: {
      ...READERS,
      attribute: notAlone,
      cost: keyed ? cost : notAlone,
      rates: notAlone,
      words: notAlone,
    },
  };
  const read = readAlone(options, mechanism, keyed ? readKeys : undefined);
  return { policy: { steps: [read], fallback: false }, whole: false };
}

/** The policy as it was written. */
function writtenOf(source: unknown, whole: boolean, name: string | undefined): Policy {
  let value = source;
  if (value instanceof Uint8Array) value = decode(value);
  if (typeof value === 'string') value = JSON.parse(value.replace('\ufeff', ''));
  if (!whole) return value as Policy;
  const { policies } = value as PolicyDocument;
  return (policies as { [name: string]: Policy })[name ?? Object.keys(policies)[0] ?? ''] as Policy;
}

function compile(engine: Engine, bytes: string, read: ReadPolicy, policy: Policy): Plan {
  const { steps } = read;
  // The values of a timeout are its settings in nanoseconds: after, and soft, which is 0 for none.
  const softs = steps.flatMap(({ mechanism, values: [, soft] }, index) =>
    mechanism === 'timeout' && Number(soft) ? { index, soft: Number(soft) / 1e6 } : [],
  );
  const layout = {
    steps: steps.map(({ name, mechanism, shadow, per, at, className, shares }) => ({
      name,
      mechanism,
      shadow,
      per: per.map(textOf),
      at,
      className,
      shares: shares !== undefined && shares !== '',
    })),
    policy,
    keyed: steps.flatMap(({ per }, index) => (per.length ? { index, per: per.map(textOf) } : [])),
    priced: steps.flatMap(({ cost }, index) => (cost ? { index, attribute: textOf(cost) } : [])),
    conditions: conditionsOf(read),
    softs: softs.length ? softs : undefined,
    hedge: steps.findIndex(({ mechanism }) => mechanism === 'hedge'),
    cuts: cutsOf(steps),
  };
  const handle = engine.check(engine.x.compile(engine.putBytes(bytes)));
  return { handle, layout, stateless: steps.every(({ cells }) => !cells), idle: [], dropped: false };
}

/** The timeouts of steps that cut every call. */
function cutsOf(steps: ReadPolicy['steps']): Layout['cuts'] {
  const repeats = steps.findIndex(({ mechanism }) => mechanism === 'retry' || mechanism === 'hedge');
  return steps.flatMap(({ mechanism, shadow, when, enforce, values }, index) =>
    mechanism === 'timeout' && !shadow && !when.length && !enforce.of
      ? [{ again: repeats >= 0 && index > repeats, after: Number(values[0]) / 1e6 }]
      : [],
  );
}

/** The name of a step by the index that decisions have. */
export const stepName = (layout: Layout, index: number): string | undefined =>
  index === STEP_DEADLINE ? 'deadline' : index === STEP_DENIED ? 'deny' : layout.steps[index]?.name;
