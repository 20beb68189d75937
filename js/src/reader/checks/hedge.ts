import type { Settings } from '../settings.js';

const DEFAULT_SAMPLES = 100;
const DEFAULT_MINIMUM = 20;

/** A hedge says when, or that all attempts start at once; a percentile alone needs samples. */
export function check(s: Settings): void {
  const parallel = s.first('parallel');
  if (parallel) {
    s.refuse('after', 'beside parallel', 'or parallel, not both');
  } else if (!s.has('after')) {
    s.need('after', 'a duration as in 200ms, or a percentile as in p95; or parallel: true');
  }
  const [, percentile = 0] = s.get('after');
  if (percentile) {
    if (!s.has('samples')) s.set('samples', DEFAULT_SAMPLES);
    if (!s.has('minimum')) s.set('minimum', Math.min(DEFAULT_MINIMUM, Number(s.first('samples'))));
    return;
  }
  const sure = parallel || !s.has('after') || s.whole('after');
  for (const name of ['samples', 'minimum']) {
    if (sure) s.refuse(name, 'without a percentile', 'beside a percentile as in after: p95');
    s.set(name, 0);
  }
}
