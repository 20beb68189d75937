import { BULKHEAD } from '../../generated/table.js';
import type { Mechanism } from '../settings.js';
import { DEFAULT_QUEUE } from './limit.js';

export const bulkhead: Mechanism = {
  row: BULKHEAD,
  // With a queue alone only the caller bounds its wait, and a wait needs a queue.
  check(s) {
    const cost = s.first('cost');
    if (s.whole('concurrent') && s.whole('cost')) {
      if (!cost) {
        s.wrong('cost', 'a default of 1 or more: each call takes a place');
      } else if (cost > s.first('concurrent')) {
        s.wrong('cost', 'a cost, also as a default, of at most concurrent; a greater one is always refused');
      }
    }
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
  },
};
