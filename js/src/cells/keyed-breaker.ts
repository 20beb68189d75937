import { checkAlone } from '../base/checks.js';
import type { BreakerState } from '../base/types.js';
import { breakerAlone } from '../reader/alone.js';
import { CircuitBreaker, type CircuitBreakerOptions } from './breaker.js';
import { KeyedCells, type KeyedSettings } from './keyed-cells.js';

/** Settings of keyed circuit breakers. */
export interface KeyedCircuitBreakerOptions extends CircuitBreakerOptions, KeyedSettings {}

/** A circuit breaker for each key. Make one with `circuitBreaker.keyed`. */
export class KeyedCircuitBreaker extends KeyedCells {
  /** @internal */
  constructor(options: KeyedCircuitBreakerOptions) {
    super(breakerAlone, options);
  }

  /** Replaces the settings of all keys, as a circuit breaker does. */
  configure(options: CircuitBreakerOptions): void {
    this.change(options);
  }

  /** The state of a key; the state of a new breaker where it has none. */
  state(key: string): BreakerState {
    return this.cells.state(key);
  }

  /** Changes the state of a key by hand. Returns false where it has no breaker. */
  transition(key: string, state: BreakerState): boolean {
    return this.cells.transition(state, key);
  }
}

/** Makes circuit breakers. */
export interface CircuitBreakerFactory {
  /**
   * A circuit breaker: it stops calling what fails, and tries again after a while.
   * Throws `PolicyError` for wrong options.
   *
   * @example
   * const breaker = circuitBreaker({ window: { calls: 100 }, failure_rate: '50%', open: '30s' });
   * const user = await breaker.execute(() => fetchUser(id));
   */
  (options?: CircuitBreakerOptions): CircuitBreaker;
  /**
   * A circuit breaker for each key, bounded in memory. Throws `PolicyError` for wrong options.
   *
   * @example
   * const hosts = circuitBreaker.keyed({ window: { calls: 20 }, keys: 1000 });
   * const answer = await hosts.execute(() => fetch(url), { key: url.host });
   */
  keyed(options?: KeyedCircuitBreakerOptions): KeyedCircuitBreaker;
}

/** Makes circuit breakers. */
export const circuitBreaker: CircuitBreakerFactory = /* @__PURE__ */ Object.assign(
  (options: CircuitBreakerOptions = {}, more?: unknown) => {
    checkAlone('circuitBreaker', more);
    return new CircuitBreaker(options);
  },
  {
    keyed: (options: KeyedCircuitBreakerOptions = {}, more?: unknown) => {
      checkAlone('circuitBreaker.keyed', more);
      return new KeyedCircuitBreaker(options);
    },
  },
);
