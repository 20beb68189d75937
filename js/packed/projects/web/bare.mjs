import * as core from '@sluice/core/js';
import * as testing from '@sluice/core/js/testing';
import { exercise } from './exercise.mjs';

/** Whether the page may compile the least module that there is. */
function compiles() {
  try {
    return new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)) !== undefined;
  } catch {
    return false;
  }
}

/** What the page shows to the test, once all of it is done. */
globalThis.report = (async () => ({ page: await exercise(core, testing), compiles: compiles() }))();
