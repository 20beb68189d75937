import { checkCost, wrongArgument } from '../base/checks.js';
import { refusal } from '../base/errors.js';
import { type Snapshot, shift, taken } from '../base/snapshot.js';
import type { Quota, Reason, Rejection } from '../base/types.js';
import type { Cost } from '../base/values.js';
import { ACTION_PEEK, ACTION_TICK, NONE, REASONS, SLOT_COUNT, VERDICT_ADMIT } from '../generated/abi.js';
import { GATES } from '../generated/mechanisms.js';
import { mechanismOf } from '../reader/mechanisms.js';
import { COMMON } from '../reader/step.js';
import type { PipelineCallOptions } from './call-options.js';
import { skippedBy } from './conditions.js';
import { costAt } from './costs.js';
import type { Driver } from './driver.js';
import { join, valuesOf } from './keys.js';
import { type PlanStep, readSource } from './plan.js';
import type { Policy, Step, StepSettings } from './policy.js';
import { stepsOf } from './policy.js';
import { mostOf, rateOf } from './rates.js';
import type { Answer, Cells } from './step.js';

/** The setting that the short form of a mechanism is. */
const shortOf = (mechanism: string): string | undefined => mechanismOf(mechanism)?.row.short;

const isPlain = (value: unknown): boolean =>
  Object(value) === value && [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** Whether calls may wait at a step. */
const queues = (step: Step): boolean => {
  const { queue, wait } = Object(Object.values(step)[0]) as { queue?: unknown; wait?: unknown };
  return (queue ?? wait) !== undefined;
};

/** Whether calls wait for the refusals of the steps below a step. */
const retries = (step: Step): boolean =>
  (step as { retry?: { refusals?: unknown } }).retry?.refusals === 'wait';

/** The settings of a step as they were written, which a short form has none of. */
const writtenOf = (
  { at, mechanism }: PlanStep,
  steps: readonly Step[],
): StepSettings & { cost?: Cost | undefined } =>
  Object((steps[at] as Record<string, unknown>)[mechanism]) as StepSettings & { cost?: Cost | undefined };

/** The key of a call at a step. */
const keyOf = ({ per }: PlanStep, options: PipelineCallOptions | undefined): string =>
  join(per, valuesOf(per, options?.key, options?.attributes));

/** Whether a call has no value for an attribute of the key of a step. */
const lacks = ({ per }: PlanStep, options: PipelineCallOptions | undefined): boolean =>
  valuesOf(per, options?.key, options?.attributes).includes('');

/** The cells of the steps of a pipeline, beside its calls. */
export class PipelineCells implements Cells {
  /** `covers` says that the program has a fallback. */
  constructor(
    private readonly driver: Driver,
    private readonly covers = false,
  ) {}

  /** The names of the steps. */
  get names(): readonly string[] {
    return this.driver.layout.steps.map(({ name }) => name);
  }

  locate(name: string): { readonly index: number; readonly step: PlanStep } {
    const { steps } = this.driver.layout;
    const index = steps.findIndex((step) => step.name === name);
    if (index < 0) wrongArgument('step', name, this.names.join(', '));
    return { index, step: steps[index] as PlanStep };
  }

  ask(index: number, key: string, kind: number, cost?: number): Answer {
    return this.driver.ask(index, key, kind, cost);
  }

  evict(index: number, key: string): boolean {
    const { driver } = this;
    driver.keep();
    const { engine, handle } = driver;
    return engine.check(engine.x.evict(handle.value, index, handle.keys.find(key))) > 0;
  }

  keysOf(index: number): string[] {
    const { driver } = this;
    if (!driver.layout.steps[index]?.per.length) return [];
    driver.keep();
    const { engine, handle } = driver;
    const has = ([, number]: [string, number]): boolean =>
      engine.x.ask(handle.value, index, number, ACTION_TICK, 0, NONE) > 0;
    return handle.keys
      .known()
      .filter(has)
      .map(([key]) => key);
  }

  waiting(index: number, key: string): number {
    let count = 0;
    for (const { queues, layout, options } of this.driver.calls()) {
      const step = layout.steps[index];
      if (!queues || !step || (step.per.length && keyOf(step, options) !== key)) continue;
      for (const at of queues.values()) if (at === index) count++;
    }
    return count;
  }

  places(index: number): number | undefined {
    const { steps, policy } = this.driver.layout;
    const { bulkhead } = stepsOf(policy)[steps[index]?.at ?? 0] as {
      bulkhead: number | { concurrent: number };
    };
    return typeof bulkhead === 'number' ? bulkhead : bulkhead.concurrent;
  }

  block(index: number, key: string, milliseconds: number): boolean {
    const { driver } = this;
    driver.keep();
    const { engine, handle, clock } = driver;
    const number = handle.keys.number(key);
    const done = engine.check(engine.x.block(handle.value, index, number, milliseconds, clock.now()));
    driver.settle(engine.words()[SLOT_COUNT] as number);
    return done > 0;
  }

  change(index: number, settings: unknown): void {
    const { layout, engine, clock } = this.driver;
    const { name, mechanism, at, className } = layout.steps[index] as PlanStep;
    const path = `step ${name}`;
    if (className) wrongArgument(path, 'a class of a limit', 'a step of its own');
    // The policy as it was read says no longer what the document shares.
    if (layout.steps.some(({ shares }) => shares)) {
      wrongArgument(path, 'a policy with mechanisms that policies share', 'one without them');
    }
    const own = Object.keys(Object(settings) as object).find((one) => COMMON.includes(one));
    if (own !== undefined)
      wrongArgument(path, own, `settings of the ${mechanism} without those of every step`);
    if (!isPlain(settings) && !(shortOf(mechanism) && /number|string/.test(typeof settings))) {
      wrongArgument(path, settings, `settings of the ${mechanism}`);
    }
    const steps = [...stepsOf(layout.policy)];
    steps[at] = { [mechanism]: this.kept(index, settings) } as unknown as Step;
    const policy = { ...layout.policy, steps } as Policy;
    this.driver.configure(readSource(engine, policy, undefined, clock, undefined, false, this.covers));
  }

  /** Settings of the mechanism of a step with what the step has beside them. */
  kept(index: number, settings: unknown): object {
    const { layout } = this.driver;
    const { mechanism, at } = layout.steps[index] as PlanStep;
    const before = Object(stepsOf(layout.policy)[at]?.[mechanism as keyof Step]) as {
      [name: string]: unknown;
    };
    const kept = Object.fromEntries(COMMON.filter((one) => one in before).map((one) => [one, before[one]]));
    const given =
      settings === undefined || Object(settings) === settings
        ? settings
        : { [shortOf(mechanism) ?? mechanism]: settings };
    return { ...kept, ...(given as object) };
  }

  /** What the enforced limits have left for a call, outermost first. */
  quotas(options: PipelineCallOptions | undefined): Quota[] {
    const quotas: Quota[] = [];
    const { steps, policy, conditions } = this.driver.layout;
    const skips = skippedBy(conditions, options?.key, options?.attributes);
    for (const [index, step] of steps.entries()) {
      const { name, mechanism, shadow, at, className } = step;
      if (mechanism !== 'limit' || shadow || skips & (1 << index)) continue;
      if (writtenOf(step, stepsOf(policy)).missing === 'skip' && lacks(step, options)) continue;
      const { limit: written } = stepsOf(policy)[at] as { limit: { rates?: { [name: string]: unknown } } };
      const settings = className ? { ...written, rate: written.rates?.[className] } : written;
      const limit = mostOf(settings);
      const key = keyOf(step, options);
      const one = this.ask(index, key, ACTION_PEEK);
      const all = this.ask(index, key, ACTION_PEEK, limit);
      const wait = ({ verdict, millis = 0 }: Answer): number => (verdict === VERDICT_ADMIT ? 0 : millis);
      const rate = rateOf(settings);
      quotas.push({ step: name, limit, remaining: one.free, next: wait(one), reset: wait(all), rate });
    }
    return quotas;
  }

  /**
   * What refuses a call that may not wait, where a step would have it wait. A step that refuses calls at once is left
   * to the call itself, which may begin a block there; so is one that may not enforce for the call.
   */
  refusing(options: PipelineCallOptions | undefined): Rejection | undefined {
    const cost = checkCost(options?.cost);
    const { steps, policy, conditions } = this.driver.layout;
    const written = stepsOf(policy);
    const retried = written.some(retries);
    if (!retried && !written.some(queues)) return undefined;
    const skips = skippedBy(conditions, options?.key, options?.attributes);
    for (const [index, step] of steps.entries()) {
      if (skips & (1 << index) || step.shadow || !GATES.includes(step.mechanism)) continue;
      const settings = writtenOf(step, written);
      if (settings.missing === 'skip' && lacks(step, options)) continue;
      const taken = costAt(step.mechanism, settings.cost, cost, options?.attributes);
      const { verdict, reason, millis } = this.ask(index, keyOf(step, options), ACTION_PEEK, taken);
      if (verdict === VERDICT_ADMIT) continue;
      const waits = retried || queues(written[step.at] as Step);
      if (
        !waits ||
        settings.enforce !== undefined ||
        (settings.missing?.startsWith('deny') && lacks(step, options))
      ) {
        return undefined;
      }
      return this.driver.refuse(refusal(step.name, REASONS[reason] as Reason, millis), options);
    }
    return undefined;
  }

  /** The states of limiters, breakers and budgets. */
  snapshot(): Snapshot {
    const { driver } = this;
    const steps: Record<string, string | Record<string, string>> = {};
    driver.keep();
    const { engine, handle, layout, clock } = driver;
    layout.steps.forEach(({ name, mechanism, per }, i) => {
      // Places and their holders belong to this process.
      if (mechanism === 'bulkhead') return;
      const keys: [string, number][] = per.length ? handle.keys.known() : [['', 0]];
      const saved = keys
        .map(([key, number]) => [key, engine.stateText(engine.x.save(handle.value, i, number))] as const)
        .filter(([, state]) => state);
      if (per.length) steps[name] = Object.fromEntries(saved);
      else if (saved[0]) steps[name] = saved[0][1];
    });
    return taken(clock, steps);
  }

  /** Restores the states of another process. Returns the names of the steps that have one. */
  restore(snapshot: Snapshot): string[] {
    const { driver } = this;
    const { engine, handle, layout, clock } = driver;
    const by = shift(clock, snapshot);
    driver.keep();
    const found = new Set<string>();
    layout.steps.forEach(({ name, mechanism, per }, i) => {
      const saved = snapshot.steps[name] ?? {};
      const one = typeof saved === 'string';
      if (mechanism === 'bulkhead' || one === per.length > 0) return;
      for (const [key, state] of Object.entries(one ? { '': saved } : saved)) {
        const size = engine.putState(state);
        const number = handle.keys.number(key);
        const count = engine.x.load(handle.value, i, number, size, by, clock.now());
        if (!engine.accepted(count)) continue;
        found.add(name);
        driver.settle(count);
      }
    });
    return [...found];
  }
}
