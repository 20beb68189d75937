import { x } from '../engine.js';
import { backoffNumbers } from './backoff.js';
import type { Reading } from './compile.js';
import { anyDuration, duration, Fields, LIKE, type Numbers, share, whole, wrong } from './values.js';

const calls = whole(1, 10_000);
const CALLS = '1 to 10000';
const HALF = 500_000;

/** The window: its kind, its count or buckets, its span. */
function window(value: unknown): [kind: number, count: number, span: number] {
  const path = 'breaker.window';
  const names = Object.keys(Object(value));
  if (names.includes('time')) {
    const fields = new Fields(path, value, ['time', 'buckets']);
    const buckets = fields.read('buckets', whole(1, 1000), '1 to 1000', 10);
    return [1, buckets, fields.read('time', duration, LIKE.duration)];
  }
  const kind = names.includes('consecutive') ? 'consecutive' : 'calls';
  const fields = new Fields(path, value, [kind]);
  return [kind === 'calls' ? 0 : 2, fields.read(kind, calls, CALLS), 0];
}

function open(value: unknown): Numbers {
  if (typeof value !== 'object') {
    const path = 'breaker.open';
    return backoffNumbers(path, { constant: value ?? '1m' }, 'none');
  }
  const { jitter = 'none', ...backoff } = Object(value) as { jitter?: unknown };
  return backoffNumbers('breaker.open', backoff, jitter);
}

/** Settings of a circuit breaker. */
export const breaker: Reading = {
  names: ['window', 'minimum', 'failure_rate', 'slow', 'open', 'probes', 'half_open_max'],
  numbers(fields) {
    const [kind, count, span] = window(fields.get('window') ?? { calls: 100 });
    if (kind === 2) {
      for (const name of ['minimum', 'failure_rate', 'slow']) {
        const value = fields.get(name);
        if (value !== undefined) wrong(`breaker.${name}`, value, 'beside calls or time, not consecutive');
      }
    }
    const most = kind === 0 ? count : 10_000;
    const slow = fields.get('slow');
    const slowness = slow === undefined ? undefined : new Fields('breaker.slow', slow, ['over', 'rate']);
    return [
      kind,
      count,
      span,
      fields.read('minimum', whole(1, most), `1 to ${most}`, kind === 2 ? 0 : Math.min(100, most)),
      fields.read('failure_rate', share, LIKE.share, kind === 2 ? 0 : HALF),
      slowness?.read('over', duration, LIKE.duration) ?? 0,
      slowness?.read('rate', share, LIKE.share) ?? 0,
      fields.read('probes', whole(1, 1000), '1 to 1000', 10),
      fields.read('half_open_max', anyDuration, LIKE.duration, 0),
      ...open(fields.get('open')),
    ];
  },
  make: () => x.breaker,
};
