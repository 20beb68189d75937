import { Bulkhead, type BulkheadOptions } from './bulkhead.js';
import { KeyedCells, type KeyedSettings } from './keyed-cells.js';
import type { BulkheadCounts } from './step.js';

/** Settings of keyed bulkheads. */
export interface KeyedBulkheadOptions extends BulkheadOptions, KeyedSettings {}

/** A bulkhead for each key. Make one with `bulkhead.keyed`. */
export class KeyedBulkhead extends KeyedCells {
  /** @internal */
  constructor(options: KeyedBulkheadOptions | number) {
    super('bulkhead', typeof options === 'number' ? { concurrent: options } : options);
  }

  /** How many calls of a key run and wait, and its free places. */
  counts(key: string): BulkheadCounts {
    return this.cells.counts(key);
  }
}

/** Makes bulkheads. */
export interface BulkheadFactory {
  /**
   * A bulkhead: it bounds how many calls run at once; others wait or are refused. Throws
   * `PolicyError` for wrong options.
   *
   * @example
   * const places = bulkhead({ concurrent: 5, queue: 100, wait: '5s' });
   * await places.execute(() => render(page));
   */
  (options: BulkheadOptions | number): Bulkhead;
  /**
   * A bulkhead for each key, bounded in memory. Throws `PolicyError` for wrong options.
   *
   * @example
   * const tenants = bulkhead.keyed({ concurrent: 5, queue: 10 });
   * await tenants.execute(() => report(tenant), { key: tenant });
   */
  keyed(options: KeyedBulkheadOptions | number): KeyedBulkhead;
}

/** Makes bulkheads. */
export const bulkhead: BulkheadFactory = /* @__PURE__ */ Object.assign(
  (options: BulkheadOptions | number) => new Bulkhead(options),
  { keyed: (options: KeyedBulkheadOptions | number) => new KeyedBulkhead(options) },
);
