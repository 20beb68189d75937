// Arguments that look right and would do something else.

import { describe, expect, test } from 'vitest';
import {
  bulkhead,
  circuitBreaker,
  hedge,
  PolicyError,
  pipeline,
  policy,
  rateLimiter,
  resilientFetch,
  retry,
  timeout,
  wrap,
} from '../src/index.js';
import { virtualClock } from '../src/testing.js';

const clock = virtualClock();

describe('arguments', () => {
  test.each([Number.POSITIVE_INFINITY, -1, Number.NaN, '1s'])('deadline: %s', async (deadline) => {
    const calls = pipeline([{ limit: '9/1s' }], { clock });
    const options = { deadline: deadline as number };
    const allowed = /^deadline: found .*; allowed a number of milliseconds, 0 or more; undefined for none$/;
    await expect(calls.execute(async () => 1, options)).rejects.toThrow(allowed);
    expect(() => calls.tryAcquire(options)).toThrow(allowed);
    expect(calls.running).toBe(0);
  });

  test('wrap without anything', () => {
    expect(() => (wrap as () => unknown)()).toThrow(
      /^wrap: found nothing; allowed one object with execute or more$/,
    );
  });

  test.each([
    ['rateLimiter', rateLimiter, '1/1s'],
    ['rateLimiter.keyed', rateLimiter.keyed, '1/1s'],
    ['circuitBreaker', circuitBreaker, {}],
    ['circuitBreaker.keyed', circuitBreaker.keyed, {}],
    ['bulkhead', bulkhead, 3],
    ['bulkhead.keyed', bulkhead.keyed, 3],
    ['retry', retry, 3],
    ['timeout', timeout, '1s'],
    ['hedge', hedge, { after: '1s' }],
  ])('options behind those of %s', (name, make, options) => {
    const two = make as (options: unknown, more: unknown) => unknown;
    expect(() => two(options, { clock: {} })).toThrow(
      new PolicyError(
        'bad-argument',
        `${name}, argument 2: found an object; allowed none: all options are in one object`,
      ),
    );
    // As by map.
    expect(two(options, 0)).toBeDefined();
  });

  test('a pipeline of another copy', () => {
    const other = { execute: () => {}, policy: { steps: [] } } as never;
    const allowed =
      /^policy: found an object.*; allowed a document, a policy or steps, or a pipeline of this copy of the package$/;
    expect(() => resilientFetch(other)).toThrow(allowed);
    expect(() => policy(other)).toThrow(allowed);
    expect(() => resilientFetch(retry(2) as never)).not.toThrow();
    expect(() => resilientFetch(rateLimiter('1/1s') as never)).toThrow(allowed);
  });
});
