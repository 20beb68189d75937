// Builds dist/: static files that any web server hosts. `make playground` calls it.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const own = import.meta.dirname;
const root = `${own}/..`;
const dist = `${own}/dist`;
const page = `${root}/sim/report/page`;

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
await build({
  entryPoints: { main: `${own}/src/main.ts`, worker: `${own}/src/worker.ts` },
  outdir: dist,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'linked',
  // The sources of the report's page are elsewhere and have the same libraries.
  nodePaths: [`${own}/node_modules`],
});

const text = (file) => readFileSync(file, 'utf8');
// The reports of sluice simulate --html have the same lanes.
const css = [
  `${root}/internal/webpage/colours.css`,
  `${root}/internal/webpage/base.css`,
  `${page}/built/style.css`,
  `${own}/src/page.css`,
];
writeFileSync(`${dist}/page.css`, css.map(text).join(''));
for (const [from, to] of [
  [`${own}/src/index.html`, 'index.html'],
  [`${own}/node_modules/uplot/LICENSE`, 'uplot.LICENSE.txt'],
  [`${root}/wasm/sim.wasm`, 'sim.wasm'],
  [`${root}/LICENSE`, 'LICENSE.txt'],
]) {
  copyFileSync(from, `${dist}/${to}`);
}

const presets = readdirSync(`${root}/sim/presets`)
  .filter((file) => file.endsWith('.yaml'))
  .sort()
  .map((file) => ({ name: file.replace('.yaml', ''), text: text(`${root}/sim/presets/${file}`) }));
writeFileSync(`${dist}/presets.json`, JSON.stringify(presets));
writeFileSync(
  `${dist}/schema.json`,
  execFileSync('go', ['run', './cmd/sluice', 'schema', '--scenario'], {
    cwd: root,
    env: { ...process.env, GOFLAGS: '-buildvcs=false' },
  }),
);
