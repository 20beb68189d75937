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
