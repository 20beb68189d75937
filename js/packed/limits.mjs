/**
 * The most bytes that the package may have: what it adds to a page that bundles
 * the entry whole, minified, and the module by itself. `now` is what is held
 * today; `goal` is where it has to get, and 1 KB is 1,000 bytes there.
 */
export const LIMITS = {
  '@sluice/core': { now: { raw: 335_100, gzip: 138_800 }, goal: { gzip: 56_000 } },
  // What is not imported is left out.
  '{ rateLimiter } of @sluice/core': { now: { raw: 244_700, gzip: 107_100 }, goal: { gzip: 42_000 } },
  // The JavaScript around the module.
  '@sluice/core/slim': { now: { raw: 147_700, gzip: 52_700 }, goal: { gzip: 8_000 } },
  // The core as JavaScript, which is larger than the module.
  '@sluice/core/js': { now: { raw: 551_200, gzip: 183_500 }, goal: {} },
  '@sluice/core/js/testing': { now: { raw: 505_200, gzip: 168_800 }, goal: {} },
  '@sluice/core/limiter': { now: { raw: 109_000, gzip: 47_000 }, goal: { gzip: 20_000 } },
  '@sluice/core/limiter/token-bucket': { now: { raw: 42_800, gzip: 17_700 }, goal: { gzip: 9_000 } },
  '@sluice/core/breaker': { now: { raw: 76_900, gzip: 33_200 }, goal: { gzip: 17_000 } },
  '@sluice/core/retry': { now: { raw: 46_100, gzip: 20_400 }, goal: { gzip: 9_000 } },
  // For any pipeline: they have none of the core.
  '@sluice/core/express': { now: { raw: 11_700, gzip: 5_400 }, goal: { gzip: 3_000 } },
  '@sluice/core/fastify': { now: { raw: 11_800, gzip: 5_500 }, goal: { gzip: 3_000 } },
  '@sluice/core/koa': { now: { raw: 11_600, gzip: 5_400 }, goal: { gzip: 3_000 } },
  '@sluice/core/hono': { now: { raw: 11_600, gzip: 5_400 }, goal: { gzip: 3_000 } },
  '@sluice/core/fetch': { now: { raw: 11_800, gzip: 5_500 }, goal: { gzip: 3_000 } },
  '@sluice/core/opentelemetry': { now: { raw: 1_600, gzip: 900 }, goal: { gzip: 1_000 } },
  '@sluice/core/yaml': { now: { raw: 300, gzip: 300 }, goal: { gzip: 300 } },
  '@sluice/core/trace': { now: { raw: 11_300, gzip: 5_200 }, goal: {} },
  // With the default entry, which it works on.
  '@sluice/core/testing': { now: { raw: 289_200, gzip: 124_800 }, goal: { gzip: 56_000 } },
  // The simulator, which `simulate` loads.
  '@sluice/core/testing, later': { now: { raw: 642_300, gzip: 262_200 }, goal: {} },
  '@sluice/core/js/testing, later': { now: { raw: 642_300, gzip: 262_200 }, goal: {} },
  '@sluice/core/core.wasm': { now: { raw: 178_800, gzip: 85_500 }, goal: { raw: 72_000, gzip: 34_000 } },
};
