import { SLOT_COSTS, SLOT_PRICED, SLOT_SPENT, SLOT_USED } from './abi.js';
import type { Engine } from './engine.js';
import { type Attributes, valuesOf } from './keys.js';
import type { PipelineCallOptions } from './pipeline-options.js';
import type { Layout } from './plan.js';

/** A whole number that counts as one. */
const WHOLE = /^\d{1,18}$/;
const MOST = 2 ** 32 - 1;

/** Puts the costs that the attributes of a call have into the slots, for its `begin`. */
export function putCosts(engine: Engine, { priced }: Layout, attributes: Attributes | undefined): void {
  const values = valuesOf(
    priced.map(({ attribute }) => attribute),
    undefined,
    attributes,
  );
  const slots = engine.words();
  let known = 0;
  priced.forEach(({ index }, i) => {
    const value = values[i] as string;
    if (!WHOLE.test(value)) return;
    slots[SLOT_COSTS + index] = Math.min(Number(value), MOST);
    known |= 1 << index;
  });
  slots[SLOT_PRICED] = known;
}

/** What a call takes at a step. */
export function costAt(
  { steps, priced }: Layout,
  at: number,
  options: PipelineCallOptions | undefined,
): number {
  const attribute = priced.find(({ index }) => index === at)?.attribute;
  const value = attribute ? (valuesOf([attribute], undefined, options?.attributes)[0] as string) : '';
  return WHOLE.test(value) ? Math.min(Number(value), MOST) : steps[at]?.permits || (options?.cost ?? 1);
}

/** Puts what an attempt has used into the slots, for its `done`. */
export function putUsed(engine: Engine, used: number): void {
  const slots = engine.words();
  slots[SLOT_SPENT] = 1;
  slots[SLOT_USED] = used;
}
