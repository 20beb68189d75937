import { valuesOf } from '../reader/encode.js';
import { readAlone } from '../reader/read.js';
import { type Compile, check, putBytes } from './engine.js';
import { dated } from './epoch.js';

/** Reads options as the values of a step, for a module of one mechanism. */
export const compileOne =
  (make: (size: number) => number): Compile =>
  (alone, options, clock) => {
    const { name, shadow, values } = dated(readAlone(options, alone), clock);
    const id = valuesOf(values);
    return { name, shadow, id, make: () => check(make(putBytes(id))) };
  };
