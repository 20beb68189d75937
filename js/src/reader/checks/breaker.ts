import type { Settings } from '../settings.js';

const CALLS = 0;
const TIME = 1;
const CONSECUTIVE = 2;

/** The most of the default minimum. */
const DEFAULT_MINIMUM = 100;

/** A window of consecutive failures has no rates, and the core gets the window with what belongs to it. */
export function check(s: Settings): void {
  if (s.has('window.consecutive')) {
    for (const name of ['minimum', 'failure_rate', 'slow.rate']) {
      s.refuse(name, 'beside a window of consecutive failures', 'beside a window of calls or time');
      s.set(name, 0);
    }
    s.set('window', CONSECUTIVE, s.first('window.consecutive'), s.first('window.forget'));
  } else if (s.has('window.time')) {
    s.set('window', TIME, s.first('window.time'), s.first('window.buckets'));
  } else {
    const calls = s.first('window.calls');
    s.set('window', CALLS, calls);
    if (!s.has('minimum')) s.set('minimum', Math.min(DEFAULT_MINIMUM, Number(calls)));
  }
}
