// Prints the digests of the modules that an entry compiles, imported and required.

const { createHash } = require('node:crypto');

const { Module } = WebAssembly;
const digests = [];
WebAssembly.Module = class extends Module {
  constructor(bytes) {
    digests.push(createHash('sha256').update(bytes).digest('hex'));
    super(bytes);
  }
};

const entry = process.argv[2];
require(entry);
import(entry).then(() => console.log(JSON.stringify(digests)));
