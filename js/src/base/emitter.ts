import { KINDS } from '../generated/abi.js';
import { wrongArgument } from './checks.js';
import { guard } from './guard.js';
import type { Decision } from './types.js';

/**
 * Called with decisions. What it throws or rejects with does not affect others; the
 * first error of each listener is printed by `console.error`.
 */
export type Listener = (decision: Decision) => unknown;

/** A decision before its fields that are undefined are left out. */
export type Told = { [K in keyof Decision]: Decision[K] | undefined };

interface Entry {
  readonly kind: Decision['kind'] | undefined;
  readonly listener: Listener;
}

/** The listeners of one object. Decisions become objects only while there is a listener for them. */
export class Emitter {
  /** Never changed in place: a listener may add or remove others. */
  private ears: readonly Entry[] = [];
  /** Whether there is a listener. */
  heard = false;
  /** Whether there is one for more than the changes of breakers: for what happens to calls. */
  watched = false;
  /** Whether there is one for admissions, and for ends. */
  admits = false;
  ends = false;
  /** Whether one is for all kinds; else the kinds that they are for. */
  private whole = false;
  private kinds: readonly string[] = [];

  /** `turned` is called when the first listener comes and when the last one goes. */
  constructor(private readonly turned?: () => void) {}

  /** Adds a listener and returns a function that removes it. */
  on(kind: Decision['kind'] | Listener, listener?: Listener): () => void {
    const entry = (listener === undefined ? { listener: kind } : { kind, listener }) as Entry;
    if (entry.kind !== undefined && !KINDS.slice(1).includes(entry.kind)) {
      wrongArgument('on', entry.kind, KINDS.slice(1).join(', '));
    }
    if (typeof entry.listener !== 'function') wrongArgument('on', entry.listener, 'a function');
    this.keep([...this.ears, entry]);
    return () => this.keep(this.ears.filter((ear) => ear !== entry));
  }

  private keep(ears: readonly Entry[]): void {
    this.ears = ears;
    const { heard } = this;
    this.heard = ears.length > 0;
    this.watched = ears.some(({ kind }) => kind !== 'change');
    this.whole = ears.some(({ kind }) => kind === undefined);
    this.kinds = ears.map(({ kind }) => kind ?? '');
    this.admits = this.whole || this.kinds.includes('admit');
    this.ends = this.whole || this.kinds.includes('end');
    if (heard !== this.heard) this.turned?.();
  }

  /** Whether there is a listener for a kind. */
  hears(kind: Decision['kind']): boolean {
    return this.heard && (this.whole || this.kinds.includes(kind));
  }

  /** Calls the listeners with a decision, without the fields that are undefined. */
  emit(decision: Told): void {
    let told: Decision | undefined;
    const { ears } = this;
    for (let i = 0; i < ears.length; i++) {
      const entry = ears[i] as Entry;
      if (entry.kind && entry.kind !== decision.kind) continue;
      told ??= withoutUndefined(decision);
      guard(entry.listener, told, entry);
    }
  }
}

/** The fields that a decision has. Written out: a loop over names takes three times as long. */
function withoutUndefined(d: Told): Decision {
  const told = { kind: d.kind, at: d.at } as { -readonly [K in keyof Decision]: Decision[K] };
  if (d.step !== undefined) told.step = d.step;
  if (d.key !== undefined) told.key = d.key;
  if (d.attempt !== undefined) told.attempt = d.attempt;
  if (d.reason !== undefined) told.reason = d.reason;
  if (d.outcome !== undefined) told.outcome = d.outcome;
  if (d.until !== undefined) told.until = d.until;
  if (d.delay !== undefined) told.delay = d.delay;
  if (d.won !== undefined) told.won = d.won;
  if (d.retryAfter !== undefined) told.retryAfter = d.retryAfter;
  if (d.dropped !== undefined) told.dropped = d.dropped;
  if (d.duration !== undefined) told.duration = d.duration;
  if (d.error !== undefined) told.error = d.error;
  if (d.state !== undefined) told.state = d.state;
  if (d.soft !== undefined) told.soft = d.soft;
  if (d.shadow !== undefined) told.shadow = d.shadow;
  if (d.fallback !== undefined) told.fallback = d.fallback;
  return told;
}
