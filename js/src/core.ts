// All of the package but the module and the entries, which import it from here:
// built, it is one file that they share. `index.ts` lists what is public.

import { compileByCore } from './compile.js';
import { type Instance, use } from './engine.js';

export { systemClock } from './clock.js';
export { HedgeLostError, InjectedError, TimeoutError } from './cuts.js';
export { limitMemory, memoryUsage, x } from './engine.js';
export { PolicyError, RejectedError } from './errors.js';
export { resilientFetch } from './fetch.js';
export { hedge } from './hedge.js';
export { circuitBreaker } from './keyed-breaker.js';
export { bulkhead } from './keyed-bulkhead.js';
export { pipeline, policies, policy } from './pipeline.js';
export { readSource } from './plan.js';
export { rateLimiter } from './rate-limiter.js';
export { retry } from './retry.js';
export { timeout } from './timeout.js';
export { useGuests } from './wakes.js';
export { wrap } from './wrap.js';

/** Gives the package what makes instances of its module, and the first one where there is one. */
export const start = (instantiate: () => Instance, first?: Instance): void =>
  use(instantiate, compileByCore, first);
