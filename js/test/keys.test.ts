import { expect, test } from 'vitest';
import { GENERATION, SLOT } from '../src/abi.js';
import { check, words, x } from '../src/engine.js';
import { Keys } from '../src/keys.js';
import { withPlan } from '../src/plan.js';

test('numbers out of use are given again', () => {
  const policy = [{ limit: { rate: '1/1s', per: 'key' } }] as const;
  withPlan(policy, undefined, (plan, layout) => {
    const pipeline = check(x.pipeline(plan, 0, 0));
    const keys = new Keys(pipeline);
    for (let i = 0; i < 200_000; i++) {
      keys.put(layout, `k${i}`, undefined);
      check(x.begin(pipeline, 1, Number.NaN, i * 10));
      check(x.done(pipeline, words()[SLOT] as number, words()[GENERATION] as number, 1, Number.NaN, i * 10));
    }
    // The module keeps 65,536 cells a step that cannot be told from new ones.
    expect(keys.known().length).toBeLessThan(100_000);
    x.free(pipeline);
  });
});
