import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { init, initSync, PolicyError, rateLimiter } from '@sluice/core/slim';

const bytes = await readFile(new URL(import.meta.resolve('@sluice/core/core.wasm')));
const module = new WebAssembly.Module(bytes);
const works = () => {
  const limiter = rateLimiter('1/1h');
  return limiter.tryAcquire().ok && !limiter.tryAcquire().ok;
};
const report = {};

try {
  works();
} catch (error) {
  report.before = error instanceof PolicyError;
}
report.noModule = await init(new Uint8Array(8)).catch((error) => error instanceof WebAssembly.CompileError);
const other = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
report.otherModule = await init(other).catch((error) => error instanceof PolicyError);

const server = createServer((request, response) => {
  const found = request.url === '/core.wasm';
  response.writeHead(found ? 200 : 404, { 'content-type': found ? 'application/wasm' : 'text/html' });
  response.end(found ? bytes : 'not found');
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${server.address().port}`;

const sources = {
  bytes,
  buffer: new Uint8Array(bytes).buffer,
  module,
  response: new Response(bytes, { headers: { 'content-type': 'application/wasm' } }),
  untypedResponse: new Response(bytes),
  fetch: fetch(`${url}/core.wasm`),
};
for (const [name, source] of Object.entries(sources)) {
  await init(source);
  report[name] = works();
}
report.notFound = await init(fetch(`${url}/missing.wasm`)).then(
  () => false,
  () => true,
);
initSync(bytes);
report.syncBytes = works();
initSync(module);
report.syncModule = works();
console.log(JSON.stringify(report));
server.close();
server.closeAllConnections();
