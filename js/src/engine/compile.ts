import { encode } from '../reader/encode.js';
import { readAlone } from '../reader/read.js';
import { type Compile, check, putBytes, x } from './engine.js';
import { dated } from './epoch.js';

/** Reads options as a plan of one step. */
export const compileByCore: Compile = (alone, options, clock) => {
  const step = dated(readAlone(options, alone), clock);
  const plan = encode({ steps: [step], fallback: false });
  const make = (): number => {
    const handle = check(x.compile(putBytes(plan)));
    const maker = x.maker(handle, 0);
    x.free(handle);
    return check(maker);
  };
  return { name: step.name, shadow: step.shadow, id: plan, make };
};
