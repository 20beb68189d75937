import { STEP_DEADLINE } from './abi.js';
import { check, putJSON, text, x } from './engine.js';
import type { Policy, PolicyDocument, Step } from './policy.js';

/** The source of a plan: a document, the body of a policy, its steps alone; or the JSON of one of the first two. */
export type Source = PolicyDocument | Policy | readonly Step[] | string;

/** A step of a plan. */
export interface PlanStep {
  readonly name: string;
  readonly mechanism: string;
  readonly shadow: boolean;
  /** The attributes that it has cells per. */
  readonly per: readonly string[];
}

/** A plan and the data that calls which began under it use. */
export interface Layout {
  readonly steps: readonly PlanStep[];
  /** The policy as it was written. */
  readonly policy: Policy;
  /** The steps that have cells per attributes. */
  readonly keyed: readonly { readonly index: number; readonly per: readonly string[] }[];
  /** The index of the hedge, -1 where the plan has none. */
  readonly hedge: number;
}

/** Compiles a source, gives the plan to a function, and frees it. */
export function withPlan<T>(
  source: Source,
  name: string | undefined,
  then: (plan: number, layout: Layout) => T,
): T {
  const value: unknown = Array.isArray(source) ? { steps: source } : source;
  let read: unknown = value;
  if (typeof value === 'string') {
    try {
      read = JSON.parse(value);
    } catch {
      // The module says what is wrong with it, and where.
    }
  }
  const whole = (read as PolicyDocument | null)?.policies || (read as PolicyDocument | null)?.version;
  const { length } = new TextEncoder().encode(name);
  const all = putJSON(value, whole ? name : '');
  const plan = check(whole ? x.plan(all, length) : x.body(all));
  try {
    const policies = (read as PolicyDocument).policies;
    const policy = whole
      ? (policies[name ?? (Object.keys(policies)[0] as string)] as Policy)
      : (read as Policy);
    const steps = describe(plan);
    const keyed = steps.map(({ per }, index) => ({ index, per })).filter(({ per }) => per.length);
    const hedge = steps.findIndex(({ mechanism }) => mechanism === 'hedge');
    return then(plan, { steps, policy, keyed, hedge });
  } finally {
    x.free(plan);
  }
}

function describe(plan: number): PlanStep[] {
  const steps: PlanStep[] = [];
  while (check(x.describe(plan, steps.length))) {
    const [name = '', mechanism = '', mode, ...per] = text().split('\n');
    steps.push({ name, mechanism, shadow: mode === 'shadow', per });
  }
  return steps;
}

/** The name of a step by the index that decisions have. */
export const stepName = (layout: Layout, index: number): string | undefined =>
  index === STEP_DEADLINE ? 'deadline' : layout.steps[index]?.name;
