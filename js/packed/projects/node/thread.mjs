import { isMainThread, parentPort, Worker } from 'node:worker_threads';

if (isMainThread) {
  new Worker(new URL(import.meta.url)).on('message', (report) => console.log(JSON.stringify({ report })));
} else {
  const core = await import('@sluice/core');
  const testing = await import('@sluice/core/testing');
  const { exercise } = await import('./exercise.mjs');
  parentPort.postMessage(await exercise(core, testing));
}
