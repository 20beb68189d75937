// The tests run on the source, with the module of the repository.

import { readFileSync } from 'node:fs';
import { start } from '../src/core.js';

const bytes = readFileSync(new URL('../../wasm/core.wasm', import.meta.url));
start(new WebAssembly.Module(bytes));
