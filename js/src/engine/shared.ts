import { checkHooks, wrongArgument } from '../base/checks.js';
import { defaultClock } from '../base/clock.js';
import { Emitter } from '../base/emitter.js';
import type { Clock } from '../base/types.js';
import { type Wakes, wakesOf } from '../base/wakes.js';
import type { Alone } from '../reader/alone.js';
import { compile, type Engine, engineOf, own, Recent, within } from './engine.js';

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
  maker: () => number;
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

/** Options of a retry whose `delay` stays, beside which the backoff is none where they name no other. */
export function besideDelay(options: unknown, delay: unknown): unknown {
  if (!delay) return options;
  const named = typeof options === 'number' ? { attempts: options } : options;
  return Object(named) === named ? { backoff: 'none', ...(named as object) } : named;
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

/** What stays as it was made, beside the name and the clock. */
const STAYS = [...OWN, 'name', 'shadow', 'delay'];

/** Replaces the options of a mechanism: cells that are made from now on have them. Returns the new ones as the module reads them. */
export function reshare(shared: Shared, alone: Alone, options: unknown): void {
  const { engine, name, shadow, clock } = shared;
  checkStays(options);
  const whole = Object(options) === options ? { ...(options as object), name, shadow } : options;
  const { id, make } = compile(alone, whole, clock);
  const maker = (): number => recentOf(engine).take(id, () => within(engine, make));
  maker();
  shared.maker = maker;
}

/** Throws where options of `configure` have what a mechanism keeps. */
export function checkStays(options: unknown): void {
  const own = STAYS.find((one) => (Object(options) as { [name: string]: unknown })[one] !== undefined);
  if (own !== undefined) {
    wrongArgument('configure', own, `settings of the mechanism: its ${STAYS.join(', ')} stay`);
  }
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
