// All of the package but the module and the entries, which import it from here:
// built, it is one file that they share. `index.ts` lists what is public.

import { compileByCore } from './engine/compile.js';
import { type Instance, use } from './engine/engine.js';

// The first module that is exported decides the order of all others in what is built, and so how well
// that compresses: with fetch it is 1 % smaller than with the clock.

export { resilientFetch } from './http/fetch.js';

// The others.

export { systemClock } from './base/clock.js';
export { PolicyError, RejectedError } from './base/errors.js';
export { useGuests } from './base/wakes.js';
export { circuitBreaker } from './cells/keyed-breaker.js';
export { bulkhead } from './cells/keyed-bulkhead.js';
export { rateLimiter } from './cells/rate-limiter.js';
export { limitMemory, memoryUsage, x } from './engine/engine.js';
export { HedgeLostError, InjectedError, TimeoutError } from './pipeline/cuts.js';
export { hedge } from './pipeline/hedge.js';
export { pipeline, policies, policy } from './pipeline/pipeline.js';
export { readSource } from './pipeline/plan.js';
export { retry } from './pipeline/retry.js';
export { timeout } from './pipeline/timeout.js';
export { wrap } from './pipeline/wrap.js';

/** Gives the package what makes instances of its module, and the first one where there is one. */
export const start = (instantiate: () => Instance, first?: Instance): void =>
  use(instantiate, compileByCore, first);
