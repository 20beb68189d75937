// For the edge runtime of Next.js, which compiles modules when it deploys.

import { start } from '../core.js';
import module from '../core.wasm?module';
import { instancesOf } from '../engine/instances.js';

start(instancesOf(module));

export * from '../index.js';
