/**
 * The most bytes that the package may have: what it adds to a page that bundles
 * the entry whole, minified, and the module by itself. `now` is what is held
 * today; `goal` is where it has to get, and 1 KB is 1,000 bytes there.
 */
export const LIMITS = {
  '@sluice/core': { now: { raw: 213_000, gzip: 88_800 }, goal: { gzip: 56_000 } },
  // What is not imported is left out.
  '{ rateLimiter } of @sluice/core': { now: { raw: 163_000, gzip: 71_200 }, goal: { gzip: 42_000 } },
  // The JavaScript around the module.
  '@sluice/core/slim': { now: { raw: 90_000, gzip: 32_500 }, goal: { gzip: 8_000 } },
  // The core as JavaScript, which is larger than the module.
  '@sluice/core/js': { now: { raw: 363_000, gzip: 119_000 }, goal: {} },
  '@sluice/core/js/testing': { now: { raw: 332_000, gzip: 109_000 }, goal: {} },
  '@sluice/core/limiter': { now: { raw: 74_200, gzip: 32_700 }, goal: { gzip: 20_000 } },
  '@sluice/core/limiter/token-bucket': { now: { raw: 33_500, gzip: 14_400 }, goal: { gzip: 9_000 } },
  '@sluice/core/breaker': { now: { raw: 63_700, gzip: 28_200 }, goal: { gzip: 17_000 } },
  '@sluice/core/retry': { now: { raw: 38_200, gzip: 17_300 }, goal: { gzip: 9_000 } },
  // For any pipeline: they have none of the core.
  '@sluice/core/express': { now: { raw: 7_500, gzip: 3_250 }, goal: { gzip: 3_000 } },
  '@sluice/core/fastify': { now: { raw: 7_500, gzip: 3_250 }, goal: { gzip: 3_000 } },
  '@sluice/core/koa': { now: { raw: 7_500, gzip: 3_250 }, goal: { gzip: 3_000 } },
  '@sluice/core/hono': { now: { raw: 7_500, gzip: 3_250 }, goal: { gzip: 3_000 } },
  '@sluice/core/fetch': { now: { raw: 7_500, gzip: 3_250 }, goal: { gzip: 3_000 } },
  '@sluice/core/opentelemetry': { now: { raw: 1_900, gzip: 800 }, goal: { gzip: 1_000 } },
  '@sluice/core/yaml': { now: { raw: 500, gzip: 300 }, goal: { gzip: 300 } },
  // With the default entry, which it works on.
  '@sluice/core/testing': { now: { raw: 215_000, gzip: 90_300 }, goal: { gzip: 56_000 } },
  '@sluice/core/core.wasm': { now: { raw: 118_500, gzip: 55_700 }, goal: { raw: 72_000, gzip: 34_000 } },
};
