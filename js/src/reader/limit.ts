import { ALGORITHM_SLIDING_LOG, ALGORITHM_TOKEN_BUCKET, ALGORITHMS } from '../abi.js';
import { x } from '../engine.js';
import type { Reading } from './compile.js';
import { anyDuration, duration, LIKE, type Read, whole, word, wrong } from './values.js';

const BILLION = 1e9;
/** The most that a sliding log counts. */
const LOG = 10_000;
const QUEUE = '1 to 10000, beside a wait';

/** A rate: its count, and its period in milliseconds. */
function rate(value: unknown): readonly [count: number, period: number] {
  const [, count, per = ''] = /^([1-9]\d*)\/(.+)$/.exec(String(value)) ?? [];
  const period = duration(/^\d/.test(per) ? per : `1${per}`);
  const permits = Number(count);
  if (typeof value !== 'string' || !(permits <= BILLION) || !period || permits > period * 1e6) {
    return wrong('limit.rate', value, LIKE.rate);
  }
  return [permits, period];
}

const order: Read = word('oldest', 'newest');

/** Settings of a rate limiter. */
export const limit: Reading = {
  names: ['algorithm', 'rate', 'burst', 'wait', 'queue', 'order'],
  short: (value) => (typeof value === 'string' ? { rate: value } : undefined),
  numbers(fields) {
    const algorithm = fields.read('algorithm', word(...ALGORITHMS), ALGORITHMS.join(', '), 0);
    const given = fields.get('rate');
    const [count, period] = rate(given);
    if (algorithm === ALGORITHM_SLIDING_LOG && count > LOG) {
      wrong('limit.rate', given, `a count of at most ${LOG} for the algorithm sliding-log`);
    }
    const burst = fields.get('burst');
    if (burst !== undefined && algorithm !== ALGORITHM_TOKEN_BUCKET)
      wrong('limit.burst', burst, 'beside the algorithm token-bucket alone');
    const wait = fields.read('wait', anyDuration, LIKE.duration, 0);
    for (const name of ['queue', 'order']) {
      const value = fields.get(name);
      if (wait === 0 && value !== undefined) wrong(`limit.${name}`, value, 'beside a wait alone');
    }
    return [
      algorithm,
      count,
      period,
      fields.read('burst', whole(1, BILLION), '1 to 1000000000', 0),
      wait,
      fields.read('queue', whole(1, 10_000), QUEUE, wait === 0 ? 0 : 100),
      fields.read('order', order, 'oldest or newest', 0),
    ];
  },
  make: () => x.limiter,
};
