// The package without the module: the caller brings it.

import { PolicyError, start } from './core.js';
import { instancesOf } from './engine/instances.js';

export * from './index.js';

/** The source of the module: its bytes, the compiled module, or an answer that has it as its body. */
export type ModuleSource =
  | ArrayBuffer
  | ArrayBufferView
  | WebAssembly.Module
  | Response
  | PromiseLike<Response>;

/**
 * Gives the package its module: `core.wasm` of the same version. Call it once, before
 * anything else. Rejects with `PolicyError` for a module of another kind and an answer
 * that is not ok, and with the error of WebAssembly for bytes that are not a module.
 *
 * @example
 * await init(fetch(new URL('/core.wasm', location.href)));
 */
export async function init(source: ModuleSource): Promise<void> {
  let given = (await source) as BufferSource | WebAssembly.Module | Response;
  if ('arrayBuffer' in given) {
    const { ok, status } = given;
    if (!ok) {
      throw new PolicyError('bad-argument', `module: found status ${status}; allowed 200 to 299`);
    }
    given = await given.arrayBuffer();
  }
  const module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(given);
  start(instancesOf(module), await WebAssembly.instantiate(module));
}

/** `init` without waiting, for bytes or a module. Throws what `init` rejects with. */
export function initSync(source: ArrayBuffer | ArrayBufferView | WebAssembly.Module): void {
  const module =
    source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source as BufferSource);
  start(instancesOf(module));
}
