import type { Emitter, Listener } from './emitter.js';
import type { Decision } from './types.js';

/** What tells of its decisions. */
export abstract class Observable {
  /** @internal */
  abstract readonly emitter: Emitter;

  /**
   * Hears the decisions, all or those of one kind. It is called at once, while the
   * decision is made; what it throws is dropped. Returns what ends it.
   */
  on(listener: Listener): () => void;
  on(kind: Decision['kind'], listener: Listener): () => void;
  on(kind: Decision['kind'] | Listener, listener?: Listener): () => void {
    return this.emitter.on(kind, listener);
  }
}
