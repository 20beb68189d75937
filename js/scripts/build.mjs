// Builds dist/ from src/ and ../wasm/*.wasm: `npm run build`.

import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { minifySync } from 'rolldown/utils';
import { inLines } from './lines.mjs';
import { digest, textOf } from './text.mjs';
import { translate } from './translate.mjs';

const root = new URL('../', import.meta.url).pathname;
const wasm = new URL('../../wasm/', import.meta.url).pathname;
const dist = `${root}dist`;

/** The texts that modules are put in as. */
const texts = new Set();

/** Puts modules in, as the text of their bytes and what reads it. */
const inlined = (textOf, contentsOf) => ({
  name: 'inline',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^inline:/ }, ({ path }) => ({ path: path.slice(7), namespace: 'inline' }));
    onLoad({ filter: /.*/, namespace: 'inline' }, async ({ path }) => {
      const bytes = await readFile(`${wasm}${path}.wasm`);
      const text = textOf(bytes);
      texts.add(text);
      return { contents: contentsOf(JSON.stringify(text), bytes), resolveDir: `${root}src` };
    });
  },
});

/** Text that compresses like the module. */
const inline = inlined(
  textOf,
  (text, bytes) => `import { bytesOf } from './engine/bytes.js';
    export default bytesOf(${text}, ${bytes.length}, ${digest(bytes)});`,
);

/** Base64, which servers read 50 times as fast. It needs no file, so that a bundle for a server works too. */
const base64 = inlined(
  (bytes) => bytes.toString('base64'),
  (text) => `export default Buffer.from(${text}, 'base64');`,
);

/** Works on the entry without WebAssembly in place of the default one. */
const onTranslated = {
  name: 'on-translated',
  setup({ onResolve }) {
    onResolve({ filter: /^@sluice\/core$/ }, () => ({ path: '@sluice/core/js', external: true }));
  },
};

/** Leaves what the entries share in a file of its own. */
const shared = {
  name: 'shared',
  setup({ onResolve, initialOptions }) {
    const [entry] = Object.keys(initialOptions.entryPoints);
    const up = entry.includes('/') ? '..' : '.';
    const extension = initialOptions.format === 'cjs' ? '.cjs' : '.js';
    onResolve({ filter: /\/core\.js$/ }, () => ({ path: `${up}/core${extension}`, external: true }));
    // Loaded when it is needed.
    onResolve({ filter: /\/simulator\.js$/ }, () => ({
      path: `${up}/simulator${extension}`,
      external: true,
    }));
    onResolve({ filter: /^translated:/ }, () => ({ path: `${up}/translated${extension}`, external: true }));
    onResolve({ filter: /^@sluice\/core$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^(@opentelemetry\/api|yaml)$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /\.wasm(\?module)?$/ }, ({ path }) => ({ path, external: true }));
  },
};

/** By it bundlers know that a call may be dropped with its result. The minifier knows it only as a name, equally long. */
const PURE = '/*@__PURE__*/Object';
const NAMED = '____pure____$Object';

/**
 * What esbuild made, with short names of variables alone: stacks and inspected objects
 * have the names of functions, classes and properties.
 */
function smaller(path, text, inputMap, module) {
  const named = text.replace(/\/\* @__PURE__ \*\/\s*Object\b/g, NAMED);
  const { code, map, errors } = minifySync(path, named, {
    module,
    compress: { target: 'es2022', keepNames: { function: true, class: true } },
    mangle: { keepNames: true },
    sourcemap: true,
    inputMap,
  });
  if (errors.length) throw new Error(`${path}: ${errors[0].message}`);
  const lines = inLines(code, map.mappings);
  let built = lines.code.replaceAll(NAMED, PURE);
  // Engines read a long text between these quotes in half the time.
  for (const one of texts) built = built.replace(`\`${one}\``, `"${one}"`);
  return { code: built, map: { ...map, mappings: lines.mappings } };
}

/** A map with the sources that people read: not the text of the module. */
function mapText({ sources, sourcesContent, ...map }) {
  const contents = sources.map((source, i) => (source.includes('inline:') ? null : sourcesContent[i]));
  return JSON.stringify({ ...map, sources, sourcesContent: contents });
}

async function make(entry, format, plugins, name = entry) {
  const cjs = format === 'cjs';
  const built = await build({
    entryPoints: { [cjs ? name.replace(/.*\//, '') : name]: `${root}src/${entry}.ts` },
    outdir: cjs ? `${dist}/cjs` : dist,
    outExtension: { '.js': cjs ? '.cjs' : '.js' },
    write: false,
    bundle: true,
    // The minifier drops white space, with which esbuild would drop what bundlers have to know.
    minifySyntax: true,
    sourcemap: 'external',
    format,
    target: 'es2022',
    platform: 'neutral',
    legalComments: 'none',
    plugins,
    // Test runners that load CommonJS by themselves have no import().
    ...(cjs && { supported: { 'dynamic-import': false } }),
  });
  const [{ text: input }, { path, text }] = built.outputFiles;
  const { code, map } = smaller(path, text, JSON.parse(input), !cjs);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${code}\n//# sourceMappingURL=${basename(path)}.map\n`);
  await writeFile(`${path}.map`, mapText(map));
}

/** Makes the core without WebAssembly. It has no map and no names: wasm2js writes it, and no person. */
async function makeTranslated(format, contents) {
  const cjs = format === 'cjs';
  await build({
    stdin: { contents, resolveDir: `${root}src` },
    outfile: cjs ? `${dist}/cjs/translated.cjs` : `${dist}/translated.js`,
    bundle: true,
    minify: true,
    format,
    target: 'es2022',
    platform: 'neutral',
    legalComments: 'none',
  });
}

/** Entries that work on any pipeline, and have none of the core. */
const SERVERS = ['express', 'fastify', 'koa', 'hono', 'fetch-handler'];
const ON_PIPELINES = ['opentelemetry', 'yaml', 'trace'];

await rm(dist, { recursive: true, force: true });
await mkdir(`${dist}/cjs/types`, { recursive: true });
await writeFile(`${dist}/cjs/types/package.json`, '{"type":"commonjs"}\n');
await cp(`${wasm}core.wasm`, `${dist}/core.wasm`);
const textual = (bytes) => `bytesOf(${JSON.stringify(textOf(bytes))}, ${bytes.length}, ${digest(bytes)})`;
const translated = `import { bytesOf } from './engine/bytes.js'; ${await translate(`${wasm}core.wasm`, textual)}`;
for (const format of ['esm', 'cjs']) {
  await make('core', format, [inline]);
  await make('simulator', format, [inline]);
  await makeTranslated(format, translated);
  await make('entry/js', format, [shared]);
  await make('testing', format, [onTranslated, shared], 'testing-js');
  for (const entry of ['entry/inline', 'slim', 'testing']) await make(entry, format, [inline, shared]);
  for (const entry of SERVERS) await make(`servers/${entry}`, format, [shared], entry);
  for (const entry of ON_PIPELINES) await make(entry, format, [shared]);
  await make('entry/node', format, [base64, shared]);
  for (const entry of ['entry/limiter', 'entry/token-bucket', 'entry/breaker', 'entry/retry']) {
    await make(entry, format, [inline]);
    await make(entry, format, [base64], `${entry}-node`);
  }
}
for (const entry of ['entry/limiter-workerd', 'entry/retry-workerd']) await make(entry, 'esm', [inline]);
for (const entry of ['entry/workerd', 'entry/slim-workerd', 'entry/js-workerd', 'entry/edge'])
  await make(entry, 'esm', [shared]);
execFileSync('npx', ['tsc', '-p', `${root}tsconfig.json`], { stdio: 'inherit', cwd: root });
await cp(`${dist}/types`, `${dist}/cjs/types`, { recursive: true });

/** The size of what an entry loads, compressed as a server does. */
const gzipped = async (...files) =>
  gzipSync(Buffer.concat(await Promise.all(files.map((file) => readFile(`${dist}/${file}`)))), { level: 9 })
    .length;
for (const [name, ...files] of [
  ['without the module', 'core.js'],
  ['default', 'core.js', 'entry/inline.js'],
  ['without WebAssembly', 'core.js', 'translated.js', 'entry/js.js'],
  ['limiter', 'entry/limiter.js'],
  ['token bucket', 'entry/token-bucket.js'],
  ['breaker', 'entry/breaker.js'],
  ['retry', 'entry/retry.js'],
  ...[...SERVERS, ...ON_PIPELINES].map((name) => [name, `${name}.js`]),
  ['core.wasm', 'core.wasm'],
]) {
  console.log(`${name.padEnd(20)}${String(await gzipped(...files)).padStart(8)} bytes gzipped`);
}
