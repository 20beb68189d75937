import { checkHooks } from './checks.js';
import { defaultClock } from './clock.js';
import { Emitter } from './emitter.js';
import { compile, type Engine, engineOf, own, Recent, within } from './engine.js';
import type { Alone } from './reader/alone.js';
import type { Clock } from './types.js';
import { type Wakes, wakesOf } from './wakes.js';

/** What the cells of one object share. */
export interface Shared {
  /** The instance of the module that has the cells. */
  readonly engine: Engine;
  readonly clock: Clock;
  readonly wakes: Wakes;
  readonly emitter: Emitter;
  /** The name of the step. */
  readonly name: string;
  /** Decides and enforces nothing. */
  readonly shadow: boolean;
  /** The handle of a maker of cells, valid until the next call; of a retry, its own. */
  readonly maker: () => number;
  /** Whether a `RejectedError` has a stack. */
  readonly stack: boolean;
  /** Handles that are freed when this object is garbage. Cells refer to this set; it refers to no cell. */
  readonly handles: Set<number>;
}

/** Options that are this package's own: the module does not know them. */
const OWN = ['clock', 'outcome', 'retryAfter', 'stack', 'instance'];

/** The options that the module reads; a short form as it is. */
export function settings(options: unknown): unknown {
  if (Object(options) !== options || typeof options === 'function') return options;
  return Object.fromEntries(Object.entries(options as object).filter(([name]) => !OWN.includes(name)));
}

/** Options of a retry without their `delay`, beside which the backoff is none where they name no other. */
export function undelayed(options: unknown): unknown {
  const { delay, ...rest } = Object(options) as { delay?: unknown; backoff?: unknown };
  return delay === undefined ? options : { backoff: 'none', ...rest };
}

/** Compiles the options of a mechanism. */
export function share(alone: Alone, options: unknown): Shared {
  const { clock = defaultClock, stack = false, instance } = checkHooks(alone.mechanism.row.name, options);
  const engine = engineOf(instance);
  const { name, shadow, id, make } = compile(alone, settings(options), clock);
  const recent = recentOf(engine);
  const maker = (): number => recent.take(id, () => within(engine, make));
  maker();
  const handles = new Set<number>();
  const shared = {
    engine,
    name,
    shadow,
    maker,
    clock,
    stack,
    wakes: wakesOf(clock),
    emitter: new Emitter(),
    handles,
  };
  own(shared, engine, handles);
  return shared;
}

const recents = /* @__PURE__ */ new WeakMap<Engine, Recent<number>>();

function recentOf(engine: Engine): Recent<number> {
  let recent = recents.get(engine);
  if (!recent) {
    recent = new Recent<number>((maker) => engine.x.free(maker));
    recents.set(engine, recent);
  }
  return recent;
}
