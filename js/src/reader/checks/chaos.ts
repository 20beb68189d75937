import { WHOLE } from '../quantities.js';
import type { Settings } from '../settings.js';

/** An attempt gets at most one result. */
export function check(s: Settings): void {
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
}
