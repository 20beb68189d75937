// Without WebAssembly: the core as JavaScript, which the build translates from the module.

import { instantiate } from 'translated:core';
import { start } from '../core.js';

start(instantiate);

export * from '../index.js';
