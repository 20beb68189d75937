import { checkAlone, checkCost, wrongArgument } from '../base/checks.js';
import type { Admission, CostOptions, Rejection } from '../base/types.js';
import type { PipelineCallOptions } from '../pipeline/call-options.js';
import type { BulkheadCounts } from '../pipeline/step.js';
import { bulkheadAlone } from '../reader/alone.js';
import { Bulkhead, type BulkheadOptions } from './bulkhead.js';
import type { KeyedOptions } from './keyed.js';
import { KeyedCells, type KeyedSettings } from './keyed-cells.js';

/** The attribute of the pipeline's calls that has their cost. */
const COST = 'header:cost';

/** Settings of keyed bulkheads. */
export interface KeyedBulkheadOptions extends BulkheadOptions, KeyedSettings {}

/** A bulkhead for each key. Make one with `bulkhead.keyed`. */
export class KeyedBulkhead extends KeyedCells<CostOptions> {
  /** @internal */
  constructor(options: KeyedBulkheadOptions | number) {
    const { cost } = Object(options) as { cost?: unknown };
    if (cost !== undefined) wrongArgument('bulkhead.cost', cost, 'none: the cost is that of the call');
    super(bulkheadAlone, typeof options === 'number' ? { concurrent: options } : options, { cost: COST });
  }

  /** Returns what a call of a key and a cost would get, and takes nothing. */
  override peek(key: string, options?: CostOptions): Admission | Rejection {
    this.keyed({ ...options, key });
    return this.cells.peek(key, options?.cost);
  }

  /** Replaces the settings of all keys, as a bulkhead does. */
  configure(options: BulkheadOptions | number): void {
    this.change(typeof options === 'number' ? { concurrent: options } : options);
  }

  /** How many calls of a key run and wait, and its free places. */
  counts(key: string): BulkheadCounts {
    return this.cells.counts(key);
  }

  protected override get callNames(): readonly string[] {
    return ['signal', 'cost', 'key'];
  }

  protected override keyed(options: KeyedOptions): PipelineCallOptions {
    const call = super.keyed(options);
    return { ...call, attributes: { [COST]: `${checkCost(options.cost)}` } };
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
  (options: BulkheadOptions | number, more?: unknown) => {
    checkAlone('bulkhead', more);
    return new Bulkhead(options);
  },
  {
    keyed: (options: KeyedBulkheadOptions | number, more?: unknown) => {
      checkAlone('bulkhead.keyed', more);
      return new KeyedBulkhead(options);
    },
  },
);
