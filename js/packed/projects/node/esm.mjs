import * as core from '@sluice/core';
import * as testing from '@sluice/core/testing';
import { exercise } from './exercise.mjs';

const exports = { core: Object.keys(core).sort(), testing: Object.keys(testing).sort() };
console.log(JSON.stringify({ exports, report: await exercise(core, testing) }));
