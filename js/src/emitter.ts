import type { Decision } from './types.js';

/** Called with decisions. What it throws is ignored and does not affect others. */
export type Listener = (decision: Decision) => void;

/** A decision before its fields that are undefined are left out. */
export type Told = { [K in keyof Decision]: Decision[K] | undefined } & { ok?: undefined };

interface Entry {
  readonly kind?: Decision['kind'];
  readonly listener: Listener;
}

/** The listeners of one object. Decisions become objects only while there is a listener. */
export class Emitter {
  private readonly ears = new Set<Entry>();
  /** Whether there is a listener. */
  heard = false;

  /** Adds a listener and returns a function that removes it. */
  on(kind: Decision['kind'] | Listener, listener?: Listener): () => void {
    const entry = (listener ? { kind, listener } : { listener: kind }) as Entry;
    this.ears.add(entry);
    this.heard = true;
    return () => {
      this.ears.delete(entry);
      this.heard = this.ears.size > 0;
    };
  }

  /** Calls the listeners with a decision, without the fields that are undefined. */
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
