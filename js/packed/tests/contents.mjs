// What is in the tarball, and that it is what the repository has.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { node, project, run } from '../run.mjs';

const main = join(import.meta.dirname, '../../..');
const installed = () => join(project('node'), 'node_modules/@sluice/core');
const digest = async (path) =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

test('the tarball has what is needed and nothing else', async () => {
  const names = (await run(inject('root'), 'tar', '-tzf', 'core.tgz'))
    .trim()
    .split('\n')
    .map((name) => name.replace(/^package\//, ''));
  const outside = names.filter((name) => !name.startsWith('dist/'));
  expect(outside.sort()).toEqual(['LICENSE', 'README.md', 'package.json']);
  const kinds = new Set(names.map((name) => name.replace(/^.*?((\.d)?\.[a-z]+)?$/, '$1')));
  expect([...kinds].sort()).toEqual(['', '.cjs', '.d.ts', '.js', '.json', '.map', '.md', '.wasm']);
});

test('every file that package.json names is there', async () => {
  const { exports, license, name, dependencies } = JSON.parse(
    await readFile(join(installed(), 'package.json'), 'utf8'),
  );
  const files = (target) => (typeof target === 'string' ? [target] : Object.values(target).flatMap(files));
  for (const file of files(exports)) await readFile(join(installed(), file));
  expect({ license, name, dependencies }).toEqual({
    license: 'Apache-2.0',
    name: '@sluice/core',
    dependencies: undefined,
  });
});

test('the license is that of the repository', async () => {
  expect(await digest(join(installed(), 'LICENSE'))).toBe(await digest(join(main, 'LICENSE')));
});

test('core.wasm is wasm/core.wasm', async () => {
  expect(await digest(join(installed(), 'dist/core.wasm'))).toBe(
    await digest(join(main, 'wasm/core.wasm')),
  );
});

test('@sluice/core/js compiles nothing', async () => {
  for (const entry of ['@sluice/core/js', '@sluice/core/js/testing']) {
    expect(await node('node', 'modules.cjs', entry)).toEqual([]);
    expect(await node('bundles', 'modules.mjs', entry)).toEqual([]);
  }
});

test.for([
  ['@sluice/core', 'core-fast', 'core'],
  ['@sluice/core/limiter', 'limiter', 'limiter'],
  ['@sluice/core/limiter/token-bucket', 'tokenbucket', 'tokenbucket'],
  ['@sluice/core/breaker', 'breaker', 'breaker'],
  ['@sluice/core/retry', 'retry', 'retry'],
])(
  '%s compiles wasm/%s.wasm in Node, imported and required, and wasm/%s.wasm in a page',
  async ([entry, inNode, inPage]) => {
    const [fast, small] = await Promise.all(
      [inNode, inPage].map((module) => digest(join(main, `wasm/${module}.wasm`))),
    );
    expect(await node('node', 'modules.cjs', entry)).toEqual([fast, fast]);
    expect(await node('bundles', 'modules.mjs', entry)).toEqual([small]);
  },
);
