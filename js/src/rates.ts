// What the settings of a limit say in numbers.

import type { RateLimiterOptions } from './limiter.js';
import { parseRate } from './reader/quantities.js';

/** A limit that was read before: so many permits in so many milliseconds. */
export function rateOf(options: unknown): readonly [count: number, period: number] {
  const text = typeof options === 'string' ? options : (options as RateLimiterOptions).rate;
  const [count, period] = parseRate(text, 1) as readonly [number, bigint];
  return [count, Number(period) / 1e6];
}

/** How many permits of a limit can be free. */
export const mostOf = (options: unknown): number =>
  (options as Partial<RateLimiterOptions>).burst ?? rateOf(options)[0];
