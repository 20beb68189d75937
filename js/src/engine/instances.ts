import type { Instance } from './engine.js';

/** Makes instances of a module. It is no part of the engine, which works without WebAssembly too. */
export const instancesOf = (module: WebAssembly.Module) => (): Instance => new WebAssembly.Instance(module);
