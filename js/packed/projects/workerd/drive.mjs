// Bundles the workers as Cloudflare's tools do, serves them with workerd, and prints what they answer.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import workerd from 'workerd';

await build({
  entryPoints: ['worker.mjs', 'worker-js.mjs'],
  bundle: true,
  format: 'esm',
  target: 'es2022',
  conditions: ['workerd', 'worker', 'browser'],
  loader: { '.wasm': 'copy' },
  assetNames: '[name]',
  outdir: 'out',
});

const server = spawn(workerd.default ?? workerd, ['serve', 'config.capnp', '--control-fd=3'], {
  stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
});
process.on('exit', () => server.kill());
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

try {
  const ports = await new Promise((resolve, reject) => {
    const found = {};
    server.on('exit', (code) => reject(new Error(`workerd ended with ${code}`)));
    createInterface(server.stdio[3]).on('line', (line) => {
      const { event, socket, port } = JSON.parse(line);
      if (event === 'listen') found[socket] = port;
      if (found.default && found.js) resolve(found);
    });
  });
  const ask = async (port, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...(body && { method: 'POST', body }),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await answer.text();
    return answer.ok ? JSON.parse(text) : `${answer.status} ${text}`;
  };
  const reports = {};
  for (const [name, port] of Object.entries(ports)) {
    const together = (path) => Promise.all(['a', 'b', 'c', 'd'].map((body) => ask(port, path, body)));
    reports[name] = {
      report: await ask(port, '/exercise'),
      limiter: await together('/limiter'),
      retry: await together('/retry'),
      read: await together('/read'),
    };
  }
  console.log(JSON.stringify(reports));
} finally {
  server.kill();
}
