import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';

// Loops over many uses, which return how many results were right.
const loops = {
  async calling(use, right, n) {
    let count = 0;
    for (let i = 0; i < n; i++) if (right(use())) count++;
    return count;
  },

  async awaiting(use, right, n) {
    let count = 0;
    for (let i = 0; i < n; i++) if (right(await use())) count++;
    return count;
  },

  async catching(use, right, n) {
    let count = 0;
    for (let i = 0; i < n; i++) {
      try {
        await use();
      } catch (error) {
        if (right(error)) count++;
      }
    }
    return count;
  },
};

/** How long a batch takes: far above what a reading of the clock costs, far below a slice of the scheduler. */
const BATCH_MS = 0.25;

/** The most uses in a batch. */
const MOST = 2 ** 17;

/**
 * Uses a contender again and again for so many milliseconds, in batches of about
 * a quarter of one, after half as long for warming up. Returns the median and the
 * mean of the batches, in nanoseconds of one operation.
 */
export async function measure({ loop, make, right, per = () => 1 }, { milliseconds, small }) {
  const run = loops[loop];
  const use = await make({ small });
  const operations = per({ small });

  async function batch(n) {
    const start = performance.now();
    const count = await run(use, right, n);
    const spent = performance.now() - start;
    if (count !== n) throw new Error(`${n - count} of ${n} results are not what the case is about`);
    // Timers have their turn, as they have in a server.
    await setImmediate();
    return spent;
  }

  // The fastest batch says how many uses fill one: another may have lost its CPU for a while.
  const warm = performance.now() + milliseconds / 2;
  let n = 1;
  let fastest = Infinity;
  do {
    fastest = Math.min(fastest, (await batch(n)) / n);
    n = Math.max(1, Math.min(MOST, 2 * n, Math.round(BATCH_MS / fastest)));
  } while (performance.now() < warm);

  globalThis.gc();
  const samples = [];
  const end = performance.now() + milliseconds;
  do samples.push(((await batch(n)) * 1e6) / (n * operations));
  while (performance.now() < end);
  return { median: median(samples), mean: samples.reduce((sum, sample) => sum + sample) / samples.length };
}

/** Uses a contender for so many milliseconds, and measures nothing. */
export async function use({ loop, make, right }, milliseconds) {
  const run = loops[loop];
  const one = await make({ small: true });
  const end = performance.now() + milliseconds;
  do await run(one, right, 20);
  while (performance.now() < end);
}

/** The middle of some numbers. */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
