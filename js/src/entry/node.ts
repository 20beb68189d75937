// For servers: the module that is built for speed, which has the size of no page.

import bytes from 'inline:core-fast';
import { start } from '../core.js';
import { instancesOf } from '../engine/instances.js';

start(instancesOf(new WebAssembly.Module(bytes)));

export * from '../index.js';
