import type { Decision } from './types.js';

/** Hears decisions. What it throws is dropped: it harms nobody else. */
export type Listener = (decision: Decision) => void;

/** A decision before its fields that are undefined are left out. */
export type Told = { [K in keyof Decision]: Decision[K] | undefined } & { ok?: undefined };

interface Entry {
  readonly kind?: Decision['kind'];
  readonly listener: Listener;
}

/** Those who listen to one object. Decisions are made into objects only while somebody does. */
export class Emitter {
  private readonly ears = new Set<Entry>();
  /** Whether anybody listens. */
  heard = false;

  /** Adds a listener and returns what removes it. */
  on(kind: Decision['kind'] | Listener, listener?: Listener): () => void {
    const entry = (listener ? { kind, listener } : { listener: kind }) as Entry;
    this.ears.add(entry);
    this.heard = true;
    return () => {
      this.ears.delete(entry);
      this.heard = this.ears.size > 0;
    };
  }

  /** Tells everybody of a decision. Fields that are undefined are left out. */
  emit(decision: Told): void {
    // As JSON a field that is undefined is none.
    const told = JSON.parse(JSON.stringify(decision)) as Decision;
    for (const { kind, listener } of [...this.ears]) {
      if (kind && kind !== told.kind) continue;
      try {
        listener(told);
      } catch {
        // As Listener says.
      }
    }
  }
}
