import type { Cost } from '../base/values.js';
import type { Engine } from '../engine/engine.js';
import { SLOT_COSTS, SLOT_PRICED, SLOT_SPENT, SLOT_USED } from '../generated/abi.js';
import { type Attributes, valuesOf } from './keys.js';
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

/** How many permits or places a call takes at a step. `given` is what the call names. */
export function costAt(
  mechanism: string,
  cost: Cost | undefined,
  given: number | undefined,
  attributes: Attributes | undefined,
): number | undefined {
  if (cost === undefined) return mechanism === 'limit' ? given : undefined;
  if (typeof cost === 'number') return cost;
  const { attribute, default: otherwise = 1 } = typeof cost === 'string' ? { attribute: cost } : cost;
  const [value = ''] = valuesOf([attribute], undefined, attributes);
  return WHOLE.test(value) ? Math.min(Number(value), MOST) : otherwise;
}

/** Puts what an attempt has used into the slots, for its `done`. */
export function putUsed(engine: Engine, used: number): void {
  const slots = engine.words();
  slots[SLOT_SPENT] = 1;
  slots[SLOT_USED] = used;
}
