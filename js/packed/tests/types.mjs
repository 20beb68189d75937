import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { project, run } from '../run.mjs';

const compilers = ['typescript', 'typescript-6'];
const configs = [
  'tsconfig.node16.json',
  'tsconfig.bundler.json',
  'tsconfig.node.json',
  'tsconfig.frameworks.json',
];

test.for(compilers.flatMap((compiler) => configs.map((config) => [compiler, config])))(
  '%s accepts the consumers under %s',
  ([compiler, config]) =>
    run(project('types'), process.execPath, `node_modules/${compiler}/bin/tsc`, '-p', config),
);

test.for(['types/index.d.ts', 'types/base/types.d.ts', 'types/testing.d.ts', 'types/slim.d.ts'])(
  'consumer.ts uses every export of %s',
  async (file) => {
    const read = (path) => readFile(join(project('types'), path), 'utf8');
    const consumer = await read('consumer.ts');
    const declarations = await read(`node_modules/@sluice/core/dist/${file}`);
    const lists = [...declarations.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) =>
      names.split(','),
    );
    const declared = [...declarations.matchAll(/^export (?:declare )?(?:interface|type|function) (\w+)/gm)];
    const names = [
      ...lists.map((name) => name.replace(/type |.* as /g, '').trim()),
      ...declared.map(([, name]) => name),
    ];
    const unused = names.filter((name) => name && !new RegExp(`\\b${name}\\b`).test(consumer));
    expect(names.length).toBeGreaterThan(0);
    expect(unused).toEqual([]);
  },
);
