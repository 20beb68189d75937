// The tests run on the source, with the core that needs no WebAssembly, as it is built.

import { start } from '../src/core.js';

const { instantiate } = await import(new URL('../dist/translated.js', import.meta.url).href);
start(instantiate);
