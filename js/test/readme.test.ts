import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;

const snippetsOf = (page: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code as string);

test('the snippets of the READMEs, of the package and of the repository, compile', () => {
  const snippets = [...snippetsOf(`${root}README.md`), ...snippetsOf(`${root}../README.md`)];
  expect(snippets.length).toBeGreaterThan(9);
  const folder = `${root}test/.readme`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [i, code] of snippets.entries()) writeFileSync(`${folder}/snippet-${i}.ts`, code);
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: {
      noEmit: true,
      emitDeclarationOnly: false,
      declaration: false,
      noUnusedLocals: false,
      rootDir: '../..',
      paths: { '@sluice/core': ['../../src/index.ts'], '@sluice/core/testing': ['../../src/testing.ts'] },
    },
    include: ['*.ts', '../../src/modules.d.ts'],
  };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config));
  try {
    execFileSync('npx', ['tsc', '-p', folder], { cwd: root, stdio: 'pipe' });
  } catch (error) {
    throw new Error((error as { stdout: Buffer }).stdout.toString());
  } finally {
    rmSync(folder, { recursive: true });
  }
});
