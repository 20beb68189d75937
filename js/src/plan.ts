import { STEP_DEADLINE } from './abi.js';
import { vet } from './checks.js';
import { check, putText, Recent, text, textOf, x } from './engine.js';
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

/** A compiled source. */
export interface Plan {
  /** Its handle, valid until the next plan is compiled. */
  readonly handle: number;
  readonly layout: Layout;
  /** Whether a pipeline without calls has no state, so that others with equal plans may use its memory. */
  readonly stateless: boolean;
  /** Pipelines of this plan, without state, that are not used. */
  readonly idle: number[];
}

const recent = new Recent<Plan>(({ handle, idle }) => {
  for (const pipeline of [handle, ...idle]) x.free(pipeline);
});

/** A source as text, and how it is compiled, which happens once for equal texts. `alone` is a mechanism that is the only step. */
export interface Text {
  readonly policy: Policy;
  readonly plan: () => Plan;
}

/** Reads a source. The plan is compiled when it is asked for. */
export function readSource(source: Source, name: string | undefined, alone?: string): Text {
  const value: unknown = vet('', Array.isArray(source) ? { steps: source } : source);
  let read: unknown = value;
  if (typeof value === 'string') {
    try {
      read = JSON.parse(value);
    } catch {
      // The module says what is wrong with it, and where.
    }
  }
  const whole = (read as PolicyDocument | null)?.policies || (read as PolicyDocument | null)?.version;
  const json = textOf(value);
  const policyOf = (): Policy => {
    const { policies } = read as PolicyDocument;
    return whole ? (policies[name ?? (Object.keys(policies)[0] as string)] as Policy) : (read as Policy);
  };
  const compile = (): Plan => {
    const { length } = new TextEncoder().encode(name);
    const all = putText(json, whole ? name : '');
    // What stands before the only step is none of what the caller wrote.
    const foreign = alone ? /^policy(:\d+:\d+)?: (steps\[0\]\.)?/gm : undefined;
    const handle = check(whole ? x.plan(all, length) : x.body(all), foreign);
    try {
      const steps = describe(handle);
      const keyed = steps.map(({ per }, index) => ({ index, per })).filter(({ per }) => per.length);
      const hedge = steps.findIndex(({ mechanism }) => mechanism === 'hedge');
      const layout = { steps, policy: policyOf(), keyed, hedge };
      return { handle, layout, stateless: layout.policy.steps.every(isStateless), idle: [] };
    } catch (error) {
      x.free(handle);
      throw error;
    }
  };
  const text = `${alone ?? ''}\n${whole ? (name ?? '') : ''}\n${json}`;
  const plan = (): Plan => recent.take(text, compile);
  plan();
  return { policy: policyOf(), plan };
}

/** A timeout, or a retry without a budget: without calls there is nothing to remember. */
function isStateless(step: Step): boolean {
  const { timeout, retry } = step as { timeout?: unknown; retry?: { budget?: unknown; per?: unknown } };
  if (timeout !== undefined) return true;
  return retry !== undefined && (retry.budget ?? 'none') === 'none';
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
