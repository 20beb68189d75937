import { defaultClock } from './clock.js';
import { Emitter } from './emitter.js';
import { compile, type Mechanism, own, ready } from './engine.js';
import type { Clock } from './types.js';
import { type Wakes, wakesOf } from './wakes.js';

/** What the cells of one object share. */
export interface Shared {
  readonly clock: Clock;
  readonly wakes: Wakes;
  readonly emitter: Emitter;
  /** The name of the step. */
  readonly name: string;
  /** Decides and enforces nothing. */
  readonly shadow: boolean;
  /** The handle of a maker of cells; of a retry, its own. */
  readonly maker: number;
  /** Handles that are freed when this object is garbage. Cells refer to this set; it refers to no cell. */
  readonly handles: Set<number>;
}

/** Options that are this package's own: the module does not know them. */
const OWN = ['clock', 'outcome', 'retryAfter'];

/** The options that the module reads; a short form as it is. */
export function settings(options: unknown): unknown {
  if (Object(options) !== options) return options;
  return Object.fromEntries(Object.entries(options as object).filter(([name]) => !OWN.includes(name)));
}

/** Compiles the options of a mechanism. */
export function share(mechanism: Mechanism, options: unknown): Shared {
  ready();
  const compiled = compile(mechanism, settings(options));
  const clock = (options as { clock?: Clock } | undefined)?.clock ?? defaultClock;
  const handles = new Set([compiled.maker]);
  const shared = { ...compiled, clock, wakes: wakesOf(clock), emitter: new Emitter(), handles };
  own(shared, handles);
  return shared;
}
