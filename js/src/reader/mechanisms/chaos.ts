import { CHAOS } from '../../generated/table.js';
import { WHOLE } from '../quantities.js';
import type { Mechanism } from '../settings.js';

export const chaos: Mechanism = {
  row: CHAOS,
  // An attempt gets at most one result, and the greatest latency is at least the least one.
  check(s) {
    if (!['fail', 'throttle', 'ignore', 'slow'].some((name) => s.has(name))) {
      s.need('fail', 'a share as in 5%; or throttle, ignore or slow');
    }
    let results = 0;
    for (const name of ['fail', 'throttle.rate', 'ignore']) {
      if (!s.whole(name)) continue;
      results += Number(s.first(name));
      if (results > WHOLE) {
        s.wrong(name, 'a share that makes at most 100% with fail, throttle and ignore together');
        break;
      }
    }
    if (s.whole('slow.by') && s.whole('slow.to') && s.first('slow.to') < s.first('slow.by')) {
      s.wrong('slow.to', 'a duration of at least by');
    }
  },
};
