// Declared for users who compile without it.
/// <reference lib="esnext.disposable" preserve="true" />

import type { Emitter, Listener } from './emitter.js';
import type { Decision } from './types.js';

/** An object that emits its decisions. */
export abstract class Observable {
  /** @internal */
  abstract readonly emitter: Emitter;

  /**
   * Adds a listener for all decisions or the decisions of one kind. It is called synchronously while the decision is
   * made. What it throws or rejects with does not affect others; the first error of each listener is printed. Returns a
   * function that removes it.
   */
  on(listener: Listener): () => void;
  on(kind: Decision['kind'], listener: Listener): () => void;
  on(kind: Decision['kind'] | Listener, listener?: Listener): () => void {
    return this.emitter.on(kind, listener);
  }

  /** Frees the memory that it has in the module. Without it that happens when the object is garbage. */
  abstract dispose(): void;

  /** The name of the class and what `console.log` shows of the state. */
  protected abstract shown(): [name: string, state: object];
}

/** Everything that holds memory, for `using`, where the runtime has it. */
export interface Observable extends Disposable {}

// Not a method of the class: runtimes without `using` have no such symbol.
if (Symbol.dispose) {
  Observable.prototype[Symbol.dispose] = function (): void {
    this.dispose();
  };
}

/** The symbol of `util.inspect`, which `console.log` uses in Node. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** What shows a name and its state. */
interface Shown {
  shown(): [name: string, state: object];
}

/** Lets `console.log` show the state of the objects of a class. */
export function inspectable(type: { readonly prototype: object }): void {
  Object.defineProperty(type.prototype, INSPECT, {
    value(this: Shown, _: number, options: object, inspect: (value: unknown, options: object) => string) {
      const [name, state] = this.shown();
      return `${name} ${inspect(state, options)}`;
    },
  });
}

inspectable(Observable);
