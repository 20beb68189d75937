import { SLOT_CONFIG } from '../generated/abi.js';
import { readAlone } from '../reader/read.js';
import { type Compile, check, floats } from './engine.js';
import { dated } from './epoch.js';

/** Numbers of a configuration, in the order of ABI.md. */
type Numbers = readonly number[];

/** Reads options as numbers, for a module of one mechanism. Its order may be another than that of a plan. */
export const compileOne =
  (make: () => number, ordered = (numbers: Numbers): Numbers => numbers): Compile =>
  (alone, options, clock) => {
    const { name, shadow, values } = dated(readAlone(options, alone), clock);
    // Durations are in milliseconds there. A text is the attribute of a cost, which a mechanism alone does not have.
    const numbers = ordered(
      values.flatMap((value) =>
        typeof value === 'bigint' ? Number(value) / 1e6 : typeof value === 'string' ? [] : value,
      ),
    );
    return {
      name,
      shadow,
      id: numbers.join(),
      make: () => {
        floats().set(numbers, SLOT_CONFIG);
        return check(make());
      },
    };
  };
