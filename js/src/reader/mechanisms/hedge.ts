import { HEDGE } from '../../generated/table.js';
import { isDelay } from '../delay.js';
import type { Mechanism } from '../settings.js';

const DEFAULT_SAMPLES = 100;
const DEFAULT_MINIMUM = 20;

export const hedge: Mechanism = {
  row: HEDGE,
  isLike: isDelay,
  check(s) {
    const parallel = s.first('parallel');
    if (parallel) {
      s.refuse('after', 'beside parallel', 'or parallel, not both');
    } else if (!s.has('after')) {
      s.need('after', 'a duration as in 200ms, or a percentile as in p95; or parallel: true');
    }
    const [, percentile = 0] = s.get('after');
    if (!percentile) {
      if (parallel || !s.has('after') || s.whole('after')) {
        for (const name of ['samples', 'minimum']) {
          s.refuse(name, 'without a percentile', 'beside a percentile as in after: p95');
        }
      }
      return;
    }
    if (!s.whole('samples')) s.set('samples', DEFAULT_SAMPLES);
    const samples = s.first('samples');
    if (!s.whole('minimum')) s.set('minimum', Math.min(DEFAULT_MINIMUM, Number(samples)));
    if (s.whole('minimum') && (!s.has('samples') || s.whole('samples')) && s.first('minimum') > samples) {
      s.wrong('minimum', `at most the samples, ${samples}`);
    }
  },
  needsCells: (s) => (s.has('budget') && !s.none('budget')) || (s.get('after')[1] ?? 0) > 0,
};
