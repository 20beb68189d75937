// A policy in JSON that is imported has types as wide as `string`. `tsc -p test` checks the types of this file.

import { expect, test } from 'vitest';
import { PolicyError, policies, policy, resilientFetch } from '../../src/index.js';
import body from './body.json' with { type: 'json' };
import document from './policy.json' with { type: 'json' };

test('an import of JSON is a document, or a policy', () => {
  expect(policies(document).login?.policy).toEqual(document.policies.login);
  const search = policy(document, 'search');
  search.configure(body);
  expect(search.policy).toEqual(body);
  expect(policy(body).policy).toEqual(body);
  expect(resilientFetch(document, { name: 'search' }).pipeline.policy).toEqual(document.policies.search);
});

test('what is written in code is checked', () => {
  // @ts-expect-error a rate has a duration
  expect(() => policy({ version: 1, policies: { a: { steps: [{ limit: { rate: '50' } }] } } })).toThrow(
    PolicyError,
  );
  // @ts-expect-error there is no such setting
  expect(() => policy({ steps: [{ limit: { rate: '50/1m', bursts: 3 } }] })).toThrow(PolicyError);
  // @ts-expect-error there is no such mechanism
  expect(() => policies({ version: 1, policies: { a: { steps: [{ limiter: '50/1m' }] } } })).toThrow(
    PolicyError,
  );
  // @ts-expect-error there is no such version
  expect(() => policy({ version: 2, policies: { a: { pass: true } } })).toThrow(PolicyError);
  // @ts-expect-error a duration has a unit
  expect(() => policy({ steps: [{ limit: '1/1s' }] }).configure({ steps: [{ timeout: '10' }] })).toThrow(
    PolicyError,
  );
  // @ts-expect-error there is no such step
  expect(() => resilientFetch({ steps: [{ retries: 3 }] })).toThrow(PolicyError);
});
