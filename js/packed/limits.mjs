/**
 * The most bytes that the package may have: what it adds to a page that bundles
 * the entry whole, minified, and the module by itself. `now` is what is held
 * today; `goal` is where it has to get, and 1 KB is 1,000 bytes there.
 */
export const LIMITS = {
  '@sluice/core': { now: { raw: 296_500, gzip: 123_500 }, goal: { gzip: 56_000 } },
  // What is not imported is left out.
  '{ rateLimiter } of @sluice/core': { now: { raw: 214_900, gzip: 94_400 }, goal: { gzip: 42_000 } },
  // The JavaScript around the module.
  '@sluice/core/slim': { now: { raw: 134_200, gzip: 48_600 }, goal: { gzip: 8_000 } },
  // The core as JavaScript, which is larger than the module.
  '@sluice/core/js': { now: { raw: 485_500, gzip: 162_200 }, goal: {} },
  '@sluice/core/js/testing': { now: { raw: 445_500, gzip: 149_300 }, goal: {} },
  '@sluice/core/limiter': { now: { raw: 96_200, gzip: 42_300 }, goal: { gzip: 20_000 } },
  '@sluice/core/limiter/token-bucket': { now: { raw: 36_800, gzip: 15_600 }, goal: { gzip: 9_000 } },
  '@sluice/core/breaker': { now: { raw: 72_800, gzip: 32_000 }, goal: { gzip: 17_000 } },
  '@sluice/core/retry': { now: { raw: 44_400, gzip: 19_700 }, goal: { gzip: 9_000 } },
  // For any pipeline: they have none of the core.
  '@sluice/core/express': { now: { raw: 8_700, gzip: 4_100 }, goal: { gzip: 3_000 } },
  '@sluice/core/fastify': { now: { raw: 8_700, gzip: 4_100 }, goal: { gzip: 3_000 } },
  '@sluice/core/koa': { now: { raw: 8_700, gzip: 4_100 }, goal: { gzip: 3_000 } },
  '@sluice/core/hono': { now: { raw: 8_700, gzip: 4_100 }, goal: { gzip: 3_000 } },
  '@sluice/core/fetch': { now: { raw: 8_700, gzip: 4_100 }, goal: { gzip: 3_000 } },
  '@sluice/core/opentelemetry': { now: { raw: 1_900, gzip: 800 }, goal: { gzip: 1_000 } },
  '@sluice/core/yaml': { now: { raw: 500, gzip: 300 }, goal: { gzip: 300 } },
  // With the default entry, which it works on.
  '@sluice/core/testing': { now: { raw: 257_500, gzip: 111_200 }, goal: { gzip: 56_000 } },
  // The simulator, which `simulate` loads.
  '@sluice/core/testing, later': { now: { raw: 598_500, gzip: 244_900 }, goal: {} },
  '@sluice/core/js/testing, later': { now: { raw: 598_500, gzip: 244_900 }, goal: {} },
  '@sluice/core/core.wasm': { now: { raw: 154_900, gzip: 74_000 }, goal: { raw: 72_000, gzip: 34_000 } },
};
