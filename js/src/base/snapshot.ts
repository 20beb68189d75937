import { wallOf } from './clock.js';
import { PolicyError } from './errors.js';
import type { Clock } from './types.js';

/** The state of steps as a plain value, for any storage that takes JSON. */
export interface Snapshot {
  readonly version: 1;
  /** Wall time when it was taken, in milliseconds since 1970. */
  readonly wall: number;
  /** Time of the clock when it was taken, in milliseconds. */
  readonly at: number;
  /** States by the names of steps, in base64; the states of keyed steps by their keys. */
  readonly steps: { readonly [step: string]: string | { readonly [key: string]: string } };
}

/** A snapshot of steps at this time. */
export const taken = (clock: Clock, steps: Snapshot['steps']): Snapshot => ({
  version: 1,
  wall: wallOf(clock),
  at: clock.now(),
  steps,
});

/**
 * How far the marks of a snapshot must move: the wall time since then
 * counts as passed. Wall time that went back counts as none.
 */
export function shift(clock: Clock, snapshot: Snapshot): number {
  const { version, wall, at, steps } = snapshot ?? {};
  const by = clock.now() - at - Math.max(0, wallOf(clock) - wall);
  if (version !== 1 || !steps || !Number.isFinite(by)) {
    throw new PolicyError('bad-bytes', 'found no snapshot; allowed what snapshot() returned');
  }
  return by;
}
