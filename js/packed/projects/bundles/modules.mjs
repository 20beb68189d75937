// Prints the digest of the module that an entry compiles in a page: node modules.mjs ENTRY.

import { createHash } from 'node:crypto';
import { build } from 'esbuild';

const { Module } = WebAssembly;
const digests = [];
WebAssembly.Module = class extends Module {
  constructor(bytes) {
    digests.push(createHash('sha256').update(bytes).digest('hex'));
    super(bytes);
  }
};

const { outputFiles } = await build({
  stdin: { contents: `export * from '${process.argv[2]}'`, resolveDir: import.meta.dirname },
  bundle: true,
  platform: 'browser',
  format: 'iife',
  globalName: 'entry',
  write: false,
});
new Function(outputFiles[0].text)();
console.log(JSON.stringify(digests));
