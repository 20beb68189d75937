import { BREAKER } from '../../generated/table.js';
import type { Mechanism } from '../settings.js';

const CALLS = 0;
export const TIME = 1;
export const CONSECUTIVE = 2;
/** Added to the window where the settings follow that older plan bytes do not have. */
export const MORE = 64;

/** Calls of a window, and the most of the default minimum. */
const DEFAULT_CALLS = 100;
const DEFAULT_MINIMUM = 100;
const DEFAULT_FROM = 100_000;
const WHOLE = 1_000_000;

/** The settings that older plan bytes do not have. */
const NEWER = ['window.forget', 'slow.consecutive', 'initial', 'obey_retry_after', 'ramp.over', 'ramp.from'];

export const breaker: Mechanism = {
  row: BREAKER,
  check(s) {
    if (s.whole('ramp.from') && s.first('ramp.from') === WHOLE) {
      s.wrong('ramp.from', 'more than 0% and less than 100%');
    }
    if (s.has('ramp.over') && !s.first('ramp.from')) s.set('ramp.from', DEFAULT_FROM);
    const more = NEWER.some((name) => s.first(name)) ? MORE : 0;
    if (!more) for (const name of NEWER) s.set(name);
    const wrong = s.whole('successes') && s.first('successes') > s.first('probes');
    if (wrong && (!s.has('probes') || s.whole('probes'))) {
      s.wrong('successes', `at most the probes, ${s.first('probes')}`);
    }
    const whole = !s.has('window') || s.whole('window');
    if (s.has('window.consecutive')) {
      for (const name of ['minimum', 'failure_rate', 'slow.rate']) {
        s.refuse(name, 'beside a window of consecutive failures', 'beside a window of calls or time');
        s.set(name, 0);
      }
      const forget = more ? [BigInt(s.first('window.forget'))] : [];
      s.set('window', CONSECUTIVE | more, s.first('window.consecutive'), ...forget);
    } else if (s.has('window.time')) {
      const span = s.first('window.time');
      const buckets = s.first('window.buckets');
      s.set('window', TIME | more, span, buckets);
      if (whole && span < buckets) {
        s.wrong('window.time', `at least a nanosecond for each of the ${buckets} buckets`);
      }
    } else {
      const calls = s.has('window.calls') ? s.first('window.calls') : DEFAULT_CALLS;
      s.set('window', CALLS | more, calls);
      if (!s.has('minimum')) s.set('minimum', Math.min(DEFAULT_MINIMUM, Number(calls)));
      if (whole && s.whole('minimum') && s.first('minimum') > calls) {
        s.wrong('minimum', `at most the window's calls, ${calls}`);
      }
    }
  },
};
