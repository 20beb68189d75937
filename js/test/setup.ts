// The tests run on the source, with the module of the repository.

import { readFileSync } from 'node:fs';
import { start } from '../src/core.js';
import { instancesOf } from '../src/engine/instances.js';

const bytes = readFileSync(new URL('../../wasm/core.wasm', import.meta.url));
start(instancesOf(new WebAssembly.Module(bytes)));
