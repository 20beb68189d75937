// A web server of static files, as plain as any.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const types = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  json: 'application/json',
  wasm: 'application/wasm',
};

/** What the page needs: nothing of another server, no code from texts. */
const policy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'; worker-src 'self'; frame-src 'self'; img-src data:";

/** Serves a folder and returns its address and what closes it. */
export async function serve(folder) {
  const server = createServer(async ({ url }, response) => {
    const path = new URL(url, 'http://host').pathname.replace(/\/$/, '/index.html');
    try {
      const body = await readFile(folder + path);
      response.setHeader('content-type', types[path.replace(/.*\./, '')] ?? 'text/plain');
      response.setHeader('content-security-policy', policy);
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}/`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
