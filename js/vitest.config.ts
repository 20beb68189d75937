import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const at = (path: string): string => new URL(path, import.meta.url).pathname;
const own = { find: /^@sluice\/core$/, replacement: at('src/index.ts') };
const shared = { testTimeout: 60_000 };

/** The modules that the build puts in, from the repository. */
const inline = {
  name: 'inline',
  resolveId: (id: string) => (id.startsWith('inline:') ? `\0${id}` : undefined),
  load: (id: string) =>
    id.startsWith('\0inline:')
      ? `import { readFileSync } from 'node:fs';
         export default new Uint8Array(readFileSync(${JSON.stringify(at('../wasm/'))} + ${JSON.stringify(`${id.slice(8)}.wasm`)}));`
      : undefined,
};

/** The tests of the API run on what is built as well. */
const built = (entry: string) => ({
  resolve: { alias: [{ find: /^\.\.\/src\/index\.js$/, replacement: at(`dist/entry/${entry}.js`) }] },
  test: {
    ...shared,
    name: `built: ${entry}`,
    include: [
      'limiter',
      'breaker',
      'bulkhead',
      'pipeline',
      'hedge',
      'fetch',
      'lone-retry',
      'step',
      'body',
    ].map((name) => `test/${name}.test.ts`),
  },
});

/** Tests of memory, keys and logs run on the core without WebAssembly as well. */
const translated = {
  resolve: { alias: [own] },
  test: {
    ...shared,
    name: 'translated',
    include: ['evaluate', 'instance', 'keys', 'memory'].map((name) => `test/${name}.test.ts`),
    setupFiles: ['test/setup-translated.ts'],
  },
};

export default defineConfig({
  test: {
    projects: [
      {
        plugins: [inline],
        resolve: { alias: [own] },
        test: {
          ...shared,
          name: 'source',
          include: ['test/**/*.test.ts'],
          exclude: ['test/lone-retry.test.ts'],
          setupFiles: ['test/setup.ts'],
        },
      },
      ...(existsSync(at('dist/core.js')) ? [built('inline'), built('node')] : []),
      ...(existsSync(at('dist/translated.js')) ? [built('js'), translated] : []),
    ],
  },
});
