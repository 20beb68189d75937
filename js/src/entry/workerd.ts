// For workerd and Cloudflare Workers, where bytes may not be compiled in a handler.

import { start, useGuests } from '../core.js';
import module from '../core.wasm';
import { instancesOf } from '../engine/instances.js';
import { requests } from '../pipeline/requests.js';

start(instancesOf(module));
useGuests(requests);

export * from '../index.js';
