import type { Settings } from '../settings.js';

const CALLS = 0;
export const TIME = 1;
export const CONSECUTIVE = 2;
/** Added to the window where the settings follow that older plan bytes do not have. */
export const MORE = 64;

/** The most of the default minimum. */
const DEFAULT_MINIMUM = 100;

/** The settings that older plan bytes do not have. */
const NEWER = ['window.forget', 'slow.consecutive', 'initial', 'obey_retry_after', 'ramp.over', 'ramp.from'];

/** A window of consecutive failures has no rates, and the core gets the window with what belongs to it. */
export function check(s: Settings): void {
  const more = NEWER.some((name) => s.first(name)) ? MORE : 0;
  if (!more) for (const name of NEWER) s.set(name);
  if (s.has('window.consecutive')) {
    for (const name of ['minimum', 'failure_rate', 'slow.rate']) {
      s.refuse(name, 'beside a window of consecutive failures', 'beside a window of calls or time');
      s.set(name, 0);
    }
    const forget = more ? [BigInt(s.first('window.forget'))] : [];
    s.set('window', CONSECUTIVE | more, s.first('window.consecutive'), ...forget);
  } else if (s.has('window.time')) {
    s.set('window', TIME | more, s.first('window.time'), s.first('window.buckets'));
  } else {
    const calls = s.first('window.calls');
    s.set('window', CALLS | more, calls);
    if (!s.has('minimum')) s.set('minimum', Math.min(DEFAULT_MINIMUM, Number(calls)));
  }
}
