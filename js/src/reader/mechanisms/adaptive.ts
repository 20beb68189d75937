import { ADAPTIVE } from '../../generated/table.js';
import { isDelay } from '../delay.js';
import type { Mechanism } from '../settings.js';

/** The greatest tolerance, in millionths. */
const MAX_TOLERANCE = 500_000;

const LIMITS = ['initial', 'minimum', 'maximum'];

export const adaptive: Mechanism = {
  row: ADAPTIVE,
  isLike: isDelay,
  // The maximum is at least the two others, and the initial limit lies between the bounds.
  check(s) {
    const cost = s.whole('cost') ? Number(s.first('cost')) : 1;
    if (!cost) s.wrong('cost', 'a default of 1 or more: each call takes a place');
    if (s.whole('tolerance') && s.first('tolerance') > MAX_TOLERANCE) {
      s.wrong('tolerance', 'at most 50%: a limit whose calls are cut must fall');
    }
    if (LIMITS.some((name) => s.has(name) && !s.whole(name))) return;
    const [initial = 0, minimum = 0, maximum = 0] = LIMITS.map((name) => Number(s.first(name)));
    const most = s.has('maximum') ? maximum : Math.max(maximum, minimum, s.has('initial') ? initial : 0);
    const first = s.has('initial') ? initial : Math.min(Math.max(initial, minimum), most);
    s.set('initial', first);
    s.set('maximum', most);
    if (minimum > most) s.wrong('minimum', `at most the maximum, ${most}`);
    else if (first < minimum) s.wrong('initial', `at least the minimum, ${minimum}`);
    else if (first > most) s.wrong('initial', `at most the maximum, ${most}`);
    else if (cost > most) {
      s.wrong(
        'cost',
        `a cost, also as a default, of at most the maximum, ${most}; a greater one is always refused`,
      );
    }
  },
};
