// Rows of the README's table "Coming from another package", run with both packages on the same script.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { bulkhead, pipeline, rateLimiter } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const bench = new URL('../bench/', import.meta.url).pathname;
const peer = createRequire(`${bench}main.mjs`);

/** How many of so many calls ran, without waiting for those that wait. */
async function ran(calls: number, start: (task: () => Promise<void>) => Promise<unknown>): Promise<number> {
  let count = 0;
  const task = async (): Promise<void> => {
    count++;
  };
  const all = Array.from({ length: calls }, () => start(task).catch(() => {}));
  await Promise.race([Promise.all(all), new Promise((resolve) => setImmediate(() => setImmediate(resolve)))]);
  return count;
}

describe.skipIf(!existsSync(`${bench}node_modules/opossum`))('coming from another package', () => {
  test('opossum: a failing dependency is called once', async () => {
    const Opossum = peer('opossum');
    let [there, here] = [0, 0];
    const other = new Opossum(
      async () => {
        there++;
        throw new Error('down');
      },
      { timeout: 3000, errorThresholdPercentage: 50, resetTimeout: 30_000 },
    );
    const calls = pipeline([
      { breaker: { window: { time: '10s' }, minimum: 1, open: '30s', probes: 1 } },
      { timeout: '3s' },
    ]);
    for (let i = 0; i < 99; i++) {
      await other.fire().catch(() => {});
      await calls
        .execute(() => {
          here++;
          throw new Error('down');
        })
        .catch(() => {});
    }
    other.shutdown();
    expect([there, here]).toEqual([1, 1]);
  });

  test('p-limit: as many calls as have a place run', async () => {
    const { default: pLimit } = await import(peer.resolve('p-limit'));
    const limit = pLimit(3);
    const places = bulkhead({ concurrent: 3, queue: 10_000 });
    const finish = (start: (task: () => Promise<number>) => Promise<number>): Promise<number[]> =>
      Promise.all(Array.from({ length: 10_003 }, (_, i) => start(async () => i)));
    expect(await finish((task) => places.execute(task))).toEqual(await finish((task) => limit(task)));
    // More are refused here, and wait there.
    const all = Array.from({ length: 10_004 }, (_, i) => places.attempt(async () => i));
    expect((await Promise.all(all)).filter(({ ok }) => !ok)).toEqual([
      { ok: false, step: 'bulkhead', reason: 'full', retryAfter: undefined },
    ]);
  });

  test('bottleneck: the reservoir serves 100 of 500 now, and refuses none', async () => {
    const Bottleneck = peer('bottleneck');
    const other = new Bottleneck({
      reservoir: 100,
      reservoirRefreshAmount: 100,
      reservoirRefreshInterval: 60_000,
    });
    const clock = virtualClock();
    const limiter = rateLimiter({
      rate: '100/1m',
      algorithm: 'fixed-window',
      wait: '1d',
      queue: 10_000,
      clock,
    });
    let refused = 0;
    let count = 0;
    const all = Array.from({ length: 500 }, () => limiter.execute(() => count++).catch(() => refused++));
    await clock.advance(0);
    const now = count;
    const there = await ran(500, (task) => other.schedule(task));
    // Bottleneck starts its calls with timers of its own: it never starts more than its reservoir.
    expect(there).toBeLessThanOrEqual(100);
    expect([now, refused]).toEqual([100, 0]);
    await clock.advance(240_000);
    await Promise.all(all);
    expect([count, refused]).toEqual([500, 0]);
    await other.disconnect();
  });
});
