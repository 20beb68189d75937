// The wall time of mark 0, which windows of the calendar need.

import { wallOf } from '../base/clock.js';
import type { Clock } from '../base/types.js';
import type { Step } from '../reader/result.js';

const epochs = /* @__PURE__ */ new WeakMap<Clock, bigint>();
const SECOND = 1_000_000_000n;

/**
 * The wall time of the 0 of a clock in nanoseconds since 1970. It stays the same until the two clocks are a second
 * apart, so that equal policies have equal plans.
 */
function epochOf(clock: Clock): bigint {
  // As floats the nanoseconds since 1970 are not exact. The difference is rounded, not the wall time, so that
  // it does not depend on when it is read.
  const present = BigInt(Math.round((wallOf(clock) - clock.now()) * 1e3)) * 1000n;
  const last = epochs.get(clock);
  if (last !== undefined && present - last < SECOND && last - present < SECOND) return last;
  epochs.set(clock, present < 0n ? 0n : present);
  return present < 0n ? 0n : present;
}

/** A step whose windows of the calendar follow the wall time of a clock. */
export const dated = (step: Step, clock: Clock | undefined): Step =>
  step.dated && clock ? { ...step, values: [...step.values.slice(0, -1), epochOf(clock)] } : step;
