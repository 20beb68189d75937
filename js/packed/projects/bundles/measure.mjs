// Prints how many bytes each entry adds to a page: bundled whole and minified, raw and gzipped. What it loads later,
// when it is needed, is a file of its own.

import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const sizes = {};
const measure = (name, bytes) => {
  sizes[name] = { raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length };
};

const entries = ['', '/slim', '/js', '/js/testing', '/limiter', '/limiter/token-bucket', '/breaker', '/retry', '/testing'];
const frameworks = ['/express', '/fastify', '/koa', '/hono', '/fetch', '/opentelemetry', '/yaml', '/trace'];

for (const [entry, imported = '*'] of [
  ...[...entries, ...frameworks].map((entry) => [entry]),
  ['', '{ rateLimiter }'],
]) {
  const from = `@sluice/core${entry}`;
  const name = imported === '*' ? from : `${imported} of ${from}`;
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export ${imported} from '${from}'`, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    splitting: true,
    metafile: true,
    outdir: '.',
    external: ['@opentelemetry/api', 'yaml'],
  });
  const [[main, { imports }]] = Object.entries(metafile.outputs).filter(([, output]) => output.entryPoint);
  const bytes = (path) => outputFiles.find((file) => file.path.endsWith(`/${path}`)).contents;
  const kind = (wanted) => imports.filter((one) => !one.external && one.kind === wanted).map(({ path }) => bytes(path));
  measure(name, Buffer.concat([bytes(main), ...kind('import-statement')]));
  for (const later of kind('dynamic-import')) measure(`${name}, later`, later);
}
measure('@sluice/core/core.wasm', await readFile(new URL(import.meta.resolve('@sluice/core/core.wasm'))));
console.log(JSON.stringify(sizes));
