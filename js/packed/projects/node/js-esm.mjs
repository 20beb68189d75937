import * as core from '@sluice/core/js';
import * as testing from '@sluice/core/js/testing';
import { exercise } from './exercise.mjs';
import { only } from './bare.mjs';

const exports = { core: Object.keys(core).sort(), testing: Object.keys(testing).sort() };
only(async () => ({ exports, wasm: typeof WebAssembly, report: await exercise(core, testing) }));
