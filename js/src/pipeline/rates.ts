// What the settings of a limit say in numbers.

import type { LimitSettings } from '../generated/settings.js';
import { periodOf } from '../reader/calendar.js';

/** A limit that was read before: so many permits in so many milliseconds. */
export function rateOf(options: unknown): readonly [count: number, period: number] {
  const text = typeof options === 'string' ? options : (options as LimitSettings).rate;
  const [count, period] = periodOf(text);
  return [count, Number(period) / 1e6];
}

/** How many permits of a limit can be free. */
export function mostOf(options: unknown): number {
  const { burst, warm_up } = options as Partial<LimitSettings>;
  const cold = warm_up ? ((warm_up as { factor?: number }).factor ?? 3) : 1;
  return burst ?? Math.ceil(rateOf(options)[0] / cold);
}
