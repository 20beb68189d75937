import { KINDS } from './abi.js';
import { wrongArgument } from './checks.js';
import { guard } from './guard.js';
import type { Decision } from './types.js';

/**
 * Called with decisions. What it throws or rejects with does not affect others; the
 * first error of each listener is printed by `console.error`.
 */
export type Listener = (decision: Decision) => unknown;

/** A decision before its fields that are undefined are left out. */
export type Told = { [K in keyof Decision]: Decision[K] | undefined } & { ok?: undefined };

interface Entry {
  readonly kind: Decision['kind'] | undefined;
  readonly listener: Listener;
}

/** The listeners of one object. Decisions become objects only while there is a listener. */
export class Emitter {
  /** Never changed in place: a listener may add or remove others. */
  private ears: readonly Entry[] = [];
  /** Whether there is a listener. */
  heard = false;

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
    this.heard = ears.length > 0;
  }

  /** Calls the listeners with a decision, without the fields that are undefined. */
  emit(decision: Told): void {
    let told: { [name: string]: unknown } | undefined;
    for (const entry of this.ears) {
      if (entry.kind && entry.kind !== decision.kind) continue;
      if (!told) {
        told = {};
        for (const name in decision) {
          const value = decision[name as keyof Told];
          if (value !== undefined) told[name] = value;
        }
      }
      const event = told as unknown as Decision;
      guard(() => entry.listener(event), entry);
    }
  }
}
