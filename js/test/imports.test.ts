// The imports between the files of src, imports of types included.

import { expect, test } from 'vitest';
import { circlesOf, importsOf } from '../scripts/imports.mjs';

test('no files of src import each other in a circle', () => {
  const imports = importsOf();
  expect(imports.size).toBeGreaterThan(100);
  expect(imports.get('pipeline/pipeline.ts')).toContain('pipeline/driver.ts');
  // An import of types alone is one.
  expect(imports.get('base/values.ts')).toEqual(['base/types.ts']);
  expect(circlesOf(imports)).toEqual([]);
});

// What is generated belongs to what imports it, and the files of no folder are entries, which testing works on.
test('folders import folders below them alone', () => {
  const folders = new Map<string, Set<string>>();
  const of = (file: string): string => (file.includes('/') ? file.replace(/\/.*/, '') : '');
  for (const [path, imports] of importsOf()) {
    const from = of(path);
    const others = imports.map(of).filter((to) => to && to !== from && to !== 'generated');
    if (from && from !== 'generated') folders.set(from, new Set([...(folders.get(from) ?? []), ...others]));
  }
  expect([...(folders.get('reader') ?? [])]).toEqual(['base']);
  expect(circlesOf(new Map([...folders].map(([from, to]) => [from, [...to]])))).toEqual([]);
});

test('circles are found', () => {
  const graph = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['a']],
    ['d', ['e']],
    ['e', []],
    ['f', ['f']],
  ]);
  expect(circlesOf(graph)).toEqual([['a', 'b', 'c'], ['f']]);
});
