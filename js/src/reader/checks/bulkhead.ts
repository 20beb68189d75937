import type { Settings } from '../settings.js';

const DEFAULT_QUEUE = 100;

/** With a queue alone only the caller bounds its wait, and a wait needs a queue. */
export function check(s: Settings): void {
  if (['wait', 'queue'].some((name) => s.has(name) && !s.whole(name))) return;
  const wait = s.first('wait');
  if (!s.has('queue') && wait) s.set('queue', DEFAULT_QUEUE);
  const queue = s.first('queue');
  if (s.has('wait') && !wait && queue) {
    s.refuse('queue', 'beside a wait of nothing', 'beside a wait of more than 0, or without wait');
  } else if (wait && !queue) {
    s.refuse('wait', 'beside a queue of 0', 'beside a queue of 1 or more');
  }
  if (!queue) {
    s.refuse('order', 'without a queue', 'beside a queue of 1 or more, or a wait');
  }
}
