// Bundles main.mjs with the tool that is named, into out/, whole: nothing is left to be installed.

import { copyFile, mkdir } from 'node:fs/promises';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { build } from 'esbuild';
import { rollup } from 'rollup';
import webpack from 'webpack';

const esbuild = (outfile, options) =>
  build({ entryPoints: ['main.mjs'], bundle: true, minify: true, outfile: `out/${outfile}`, ...options });

/** What Next.js does with `?module` for its edge runtime: the module is compiled before the code runs. */
const compiled = {
  name: 'compiled',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.wasm\?module$/ }, ({ path, resolveDir }) => ({
      path: new URL(path.replace('?module', ''), `file://${resolveDir}/`).pathname,
      namespace: 'compiled',
    }));
    onLoad({ filter: /.*/, namespace: 'compiled' }, async ({ path }) => {
      await copyFile(path, 'out/edge.wasm');
      return {
        contents: `import { readFileSync } from 'node:fs';
          export default new WebAssembly.Module(readFileSync(new URL('./edge.wasm', import.meta.url)));`,
      };
    });
  },
};

const webpacked = (entry, target, filename) =>
  new Promise((resolve, reject) => {
    const compiler = webpack({
      mode: 'production',
      target,
      context: import.meta.dirname,
      entry: `./${entry}.mjs`,
      performance: { hints: false },
      output: { path: `${import.meta.dirname}/out`, filename },
    });
    compiler.run((error, stats) => {
      if (error) reject(error);
      else if (stats.hasErrors() || stats.hasWarnings()) reject(new Error(stats.toString()));
      else compiler.close(resolve);
    });
  });

const tools = {
  'esbuild-esm': () => esbuild('esbuild-esm.mjs', { format: 'esm', platform: 'neutral' }),
  'esbuild-cjs': () => esbuild('esbuild-cjs.cjs', { format: 'cjs', platform: 'node' }),
  'esbuild-iife': () => esbuild('esbuild-iife.cjs', { format: 'iife', platform: 'browser' }),
  edge: () =>
    esbuild('edge.mjs', {
      format: 'esm',
      platform: 'neutral',
      conditions: ['edge-light'],
      external: ['node:fs'],
      plugins: [compiled],
    }),
  webpack: () => webpacked('main', 'node', 'webpack.cjs'),
  'one-esbuild': () =>
    esbuild('one-esbuild.mjs', { entryPoints: ['limiter.mjs'], format: 'esm', platform: 'browser' }),
  'one-webpack': () => webpacked('limiter', 'web', 'one-webpack.mjs'),
  'one-rollup': async () => {
    const bundle = await rollup({
      input: 'limiter.mjs',
      plugins: [nodeResolve({ browser: true })],
      onwarn: ({ message }) => {
        throw new Error(message);
      },
    });
    await bundle.write({ file: 'out/one-rollup.mjs' });
  },
};

await mkdir('out', { recursive: true });
await tools[process.argv[2]]();
