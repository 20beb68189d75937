import { type Compile, check, putText, text, textOf, x } from './engine.js';
import { PolicyError } from './errors.js';

/** Has the module read the options, with the same rules and errors as a document. */
export const compileByModule: Compile = (mechanism, options) => {
  const size = putText(textOf({ steps: [{ [mechanism]: options ?? {} }] }));
  // There are no steps in what the caller wrote.
  const plan = check(x.body(size), /^policy(:\d+:\d+)?: (steps\[0\]\.)?/gm);
  check(x.describe(plan, 0));
  const [name = mechanism, , mode, per] = text().split('\n');
  const maker = x.maker(plan, 0);
  x.free(plan);
  if (per) {
    x.free(maker);
    throw new PolicyError('bad-policy', `${mechanism}.per: found ${per}; allowed in a pipeline`);
  }
  return { maker: check(maker), name, shadow: mode === 'shadow' };
};
