import * as core from '@sluice/core';
import url from '@sluice/core/core.wasm?url';
import { rateLimiter as small } from '@sluice/core/limiter';
import * as slim from '@sluice/core/slim';
import * as testing from '@sluice/core/testing';
import { exercise } from './exercise.mjs';

const inWorker = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(`worker: ${message}`));
  });

/** What the page shows to the test, once all of it is done. */
globalThis.report = (async () => {
  const page = await exercise(core, testing);
  const worker = await inWorker();
  await slim.init(fetch(url));
  return {
    page,
    worker,
    slim: slim.rateLimiter('1/1h').tryAcquire().ok,
    small: small('1/1h').tryAcquire().ok,
  };
})();
