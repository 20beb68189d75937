import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { transformSync } from 'esbuild';
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
      types: ['node'],
      skipLibCheck: true,
      paths: {
        '@sluice/core': ['../../src/index.ts'],
        '@sluice/core/fetch': ['../../src/servers/fetch-handler.ts'],
        '@sluice/core/js': ['../../src/index.ts'],
        '@sluice/core/*': ['../../src/*.ts', '../../src/servers/*.ts'],
      },
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

// On what is built, after `npm run build`: with a fetch that answers at once, each ends by itself.
test.skipIf(!existsSync(`${root}dist/core.js`))('the snippets of the package run', () => {
  const folder = `${root}test/.readme-run`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    writeFileSync(`${folder}/fetch.mjs`, `globalThis.fetch = async () => new Response('ok');`);
    for (const [i, code] of snippetsOf(`${root}README.md`).entries()) {
      const file = `${folder}/snippet-${i}.mjs`;
      writeFileSync(file, transformSync(code, { loader: 'ts', target: 'es2022' }).code);
      execFileSync('node', ['--import', `${folder}/fetch.mjs`, file], {
        cwd: root,
        stdio: 'pipe',
        timeout: 20_000,
      });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
