// Bundles the script and the style of the page, with the chart library, into built/, where
// the report embeds them. With --check it writes nothing and fails when a file differs.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const check = process.argv.includes('--check');
const root = import.meta.dirname;
const licence = readFileSync(`${root}/node_modules/uplot/LICENSE`, 'utf8');
const notice = `/* The charts are by uPlot, https://github.com/leeoniya/uPlot\n\n${licence}*/`;
const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: { page: 'src/page.js', style: 'src/page.css' },
  outdir: 'built',
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome111', 'firefox113', 'safari16.4'],
  legalComments: 'none',
  charset: 'utf8',
  // Every page is a copy of the library.
  banner: { js: notice },
  write: false,
});
mkdirSync(`${root}/built`, { recursive: true });
for (const { path, text } of outputFiles) {
  if (!check) {
    writeFileSync(path, text);
    continue;
  }
  let found = '';
  try {
    found = readFileSync(path, 'utf8');
  } catch {
    // A missing file differs.
  }
  if (found !== text) {
    process.exitCode = 1;
    console.error(`${path} is not what its sources make: npm --prefix sim/report/page run build`);
  }
}
