// The imports between the files of src, those of types included.

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

test('folders import folders below them alone', () => {
  const folders = new Map<string, Set<string>>();
  for (const [path, imports] of importsOf()) {
    const of = (file: string): string => file.split('/').slice(0, -1)[0] ?? '';
    for (const to of imports) {
      if (of(to) !== of(path)) folders.set(of(path), (folders.get(of(path)) ?? new Set()).add(of(to)));
    }
  }
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
