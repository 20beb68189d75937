import { TIMEOUT } from '../../generated/table.js';
import type { Mechanism } from '../settings.js';

export const timeout: Mechanism = {
  row: TIMEOUT,
  check(s) {
    if (s.whole('after') && s.whole('soft') && s.first('soft') >= s.first('after')) {
      s.wrong('soft', 'a duration less than after');
    }
  },
};
