import {
  ALGORITHM_FIXED_WINDOW,
  ALGORITHM_LEAKY_BUCKET,
  ALGORITHM_SLIDING_LOG,
  ALGORITHM_TOKEN_BUCKET,
  ALGORITHMS,
} from '../../generated/abi.js';
import type { Settings } from '../settings.js';

/** The most that a sliding log counts. */
const LOG = 10_000;
/** The longest time in which a bucket fills. */
export const MAX_FILL = 2n ** 62n;
/** What is allowed where it is longer. */
export const TOO_SLOW = 'a bucket that fills, or a window that lasts, at most 53375d23h (2^62 ns)';

/** The most permits at one instant of a token bucket. */
export function atOnce(s: Settings, count: number | bigint): number {
  const factor = s.first('warm_up.over') ? Number(s.first('warm_up.factor')) : 1;
  return Number(s.first('burst')) || Math.ceil(Number(count) / Math.max(1, factor));
}

/** Checks the time in which a bucket fills, and the length of a window. */
function fits(s: Settings, algorithm: number): boolean {
  const [count = 0, period = 0n] = s.get('rate');
  const bucket = algorithm === ALGORITHM_TOKEN_BUCKET;
  if (!bucket && algorithm !== ALGORITHM_LEAKY_BUCKET) return period <= MAX_FILL;
  const permits = BigInt(atOnce(s, count));
  const interval = (BigInt(period) - 1n) / BigInt(count) + 1n;
  return interval <= MAX_FILL / permits;
}

/** Checks queue and order, which need a wait. */
function checkQueue(s: Settings): void {
  if (s.has('wait') && !s.whole('wait')) return;
  if (s.first('wait')) {
    s.refuse('block', 'beside a wait', 'without a wait: a caller that waits does not exceed the rate');
    s.refuse('spread', 'beside a wait', 'without a wait: a call that waits is served at its turn');
  } else if (!s.means('wait')) {
    for (const name of ['queue', 'order']) {
      s.refuse(
        name,
        s.has('wait') ? 'beside a wait of nothing' : 'without wait',
        'beside a wait of more than 0',
      );
    }
  }
}

/** Checks a rate by the calendar and its zone. Its windows are fixed ones where no algorithm is named. */
function checkCalendar(s: Settings): void {
  const algorithm = Number(s.first('algorithm'));
  if (!s.first('zone')) {
    if (s.whole('rate')) {
      s.refuse('zone', 'beside a rate by a duration', 'beside a rate by the calendar as in 1000/day');
    }
  } else if (!s.has('algorithm') && !s.means('algorithm')) {
    s.set('algorithm', ALGORITHM_FIXED_WINDOW);
  } else if (s.whole('algorithm') && algorithm !== ALGORITHM_FIXED_WINDOW) {
    s.wrong(
      'rate',
      `a rate by a duration as in 1000/24h beside ${ALGORITHMS[algorithm]}; fixed-window alone has windows of the calendar`,
    );
    s.set('zone', 0);
  }
}

/** What depends on the algorithm, the classes, the charge and the wait. */
export function check(s: Settings): void {
  checkCalendar(s);
  const algorithm = Number(s.first('algorithm'));
  let rated = s.whole('rate') && (!s.has('warm_up') || s.whole('warm_up'));
  let place = 'rate';
  if (algorithm !== ALGORITHM_TOKEN_BUCKET) {
    for (const name of ['burst', 'warm_up']) {
      s.refuse(name, `beside ${ALGORITHMS[algorithm]}`, 'beside token-bucket alone');
    }
    s.set('burst', 0);
    s.set('warm_up.over', 0n);
  } else if (s.has('burst')) {
    rated &&= s.whole('burst');
    place = 'burst';
  }
  if (algorithm !== ALGORITHM_FIXED_WINDOW && (!s.has('algorithm') || s.whole('algorithm'))) {
    s.refuse('spread', `beside ${ALGORITHMS[algorithm]}`, 'beside fixed-window alone');
  }
  if (rated && algorithm === ALGORITHM_SLIDING_LOG && s.first('rate') > LOG) {
    s.wrong('rate', `a count of at most ${LOG} beside sliding-log, which keeps a mark for each admission`);
  } else if (rated && !fits(s, algorithm)) {
    s.wrong(place, TOO_SLOW);
  }
  if (rated && s.whole('cost') && s.first('cost') > atOnce(s, s.first('rate'))) {
    const most = algorithm === ALGORITHM_TOKEN_BUCKET ? 'burst' : 'count of rate';
    s.wrong('cost', `a cost, also as a default, of at most the ${most}; a greater one is always refused`);
  }
  if (s.has('rates') && !s.has('class')) s.need('class', 'the attribute whose values are the classes');
  else if (!s.has('rates') && !s.means('rates')) s.refuse('class', 'without rates', 'beside rates');
  if (!s.first('charge') && (!s.has('charge') || s.whole('charge'))) {
    s.refuse('settle_max', 'beside charge: start', 'beside charge: settle or charge: end');
  }
  checkQueue(s);
}
