import { expect, test } from 'vitest';
import { CORE, REPORT, TESTING } from '../expected.mjs';
import { node, project, run } from '../run.mjs';

const exports = { core: CORE, testing: TESTING };

test('import', async () => {
  expect(await node('node', 'esm.mjs')).toEqual({ exports, report: REPORT });
});

test('require', async () => {
  expect(await node('node', 'cjs.cjs')).toEqual({ exports, report: REPORT });
});

test.for(['js-esm.mjs', 'js-cjs.cjs'])('./js without WebAssembly and code from texts: %s', async (file) => {
  const flags = ['--jitless', '--disallow-code-generation-from-strings'];
  expect(await node('node', ...flags, file)).toEqual({ exports, wasm: 'undefined', report: REPORT });
  expect(await node('node', file)).toEqual({ exports, wasm: 'object', report: REPORT });
});

test('a thread of node:worker_threads', async () => {
  expect(await node('node', 'thread.mjs')).toEqual({ report: REPORT });
});

test.for(['simulate-esm.mjs', 'simulate-cjs.cjs'])('./testing simulates: %s', async (file) => {
  expect(await node('node', file)).toEqual({
    verdict: 'recovered',
    calls: 3_000,
    error: { name: 'RequirementError', seed: 1 },
  });
});

test.for(['mechanisms-esm.mjs', 'mechanisms-cjs.cjs'])(
  './limiter, ./breaker and ./retry: %s',
  async (file) => {
    const common = ['PolicyError', 'RejectedError'];
    expect(await node('node', file)).toEqual({
      limiter: [true, { ok: false, step: 'limit', reason: 'rate', retryAfter: 1_000 }],
      keyed: [true, false, true],
      breaker: [true, { ok: false, step: 'breaker', reason: 'open', retryAfter: 60_000 }, 'open'],
      retry: [3, 2_000],
      exports: [
        [...common, 'limitMemory', 'memoryUsage', 'rateLimiter', 'systemClock'],
        [...common, 'circuitBreaker', 'limitMemory', 'memoryUsage', 'systemClock'],
        [...common, 'retry', 'systemClock'],
      ],
    });
  },
);

test.for(['frameworks-esm.mjs', 'frameworks-cjs.cjs'])('the entries for frameworks: %s', async (file) => {
  const answers = [200, '"limit";r=0;t=3600', 429, '"limit";r=0;t=3600'];
  expect(await node('node', file)).toEqual({
    express: answers,
    fastify: answers,
    koa: answers,
    hono: answers,
    fetch: answers,
    opentelemetry: ['admit', 'end'],
    yaml: { steps: [{ limit: '1/1h' }] },
  });
});

test('./slim takes bytes, modules and answers, and refuses other values', async () => {
  const report = await node('node', 'slim.mjs');
  expect(Object.entries(report).filter(([, works]) => works !== true)).toEqual([]);
  expect(Object.keys(report)).toHaveLength(12);
});

test('./slim, required', async () => {
  expect(await node('node', 'slim.cjs')).toEqual({ ok: true });
});

test('a process ends when no caller waits', async () => {
  expect(await run(project('node'), process.execPath, 'exit.mjs')).toBe('open\n');
});

test('a process lives while a caller waits', async () => {
  expect(await node('node', 'stay.mjs')).toEqual({ ok: true, status: 200, cut: true });
});
