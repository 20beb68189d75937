import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { REPORT } from '../expected.mjs';
import { node, project, run } from '../run.mjs';

test.for([
  ['esbuild-esm', 'mjs'],
  ['esbuild-cjs', 'cjs'],
  ['esbuild-iife', 'cjs'],
  ['edge', 'mjs'],
  ['webpack', 'cjs'],
])('%s bundles it, and the bundle runs in Node', async ([tool, extension]) => {
  await run(project('bundles'), process.execPath, 'bundle.mjs', tool);
  expect(await node('bundles', `out/${tool}.${extension}`)).toEqual({ report: REPORT });
});

/** Texts of what a rate limiter has no use for. */
const UNUSED = [
  'an object or a function',
  'idempotency-key',
  'CircuitBreaker',
  'Bulkhead',
  'a policy document',
  'a list of routes',
  'p99.9',
  'HEAD',
];

test.for(['esbuild', 'webpack', 'rollup'])('%s leaves out what is not imported', async (tool) => {
  await run(project('bundles'), process.execPath, 'bundle.mjs', `one-${tool}`);
  const file = `out/one-${tool}.mjs`;
  expect(await node('bundles', file)).toEqual([true, false]);
  const text = await readFile(`${project('bundles')}/${file}`, 'utf8');
  expect(text).toContain('RateLimiter');
  expect(UNUSED.filter((one) => text.includes(one))).toEqual([]);
});

test('the texts that are left out are in the whole', async () => {
  const text = await readFile(`${project('bundles')}/node_modules/@sluice/core/dist/core.js`, 'utf8');
  expect(UNUSED.filter((one) => !text.includes(one))).toEqual([]);
});
