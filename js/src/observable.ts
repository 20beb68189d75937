import type { Emitter, Listener } from './emitter.js';
import type { Decision } from './types.js';

/** An object that emits its decisions. */
export abstract class Observable {
  /** @internal */
  abstract readonly emitter: Emitter;

  /**
   * Adds a listener for all decisions or those of one kind. It is called synchronously
   * while the decision is made; what it throws is ignored. Returns a function that
   * removes it.
   */
  on(listener: Listener): () => void;
  on(kind: Decision['kind'], listener: Listener): () => void;
  on(kind: Decision['kind'] | Listener, listener?: Listener): () => void {
    return this.emitter.on(kind, listener);
  }
}
