// An entry that makes no suggestions leaves this module out.

import { lower } from './bytes.js';
import { LONGEST_NAME } from './names.js';

/** Units as people write them out, each with the right one behind it; the longest first of those that begin alike. */
const SPELLED = (
  'milliseconds ms millis ms msecs ms msec ms microseconds us micros us nanoseconds ns ' +
  'seconds s second s secs s sec s minutes m minute m mins m min m hours h hour h hrs h hr h days d day d'
).split(' ');
const ALL_SPELLED = new RegExp(`${SPELLED.filter((_, i) => i % 2 === 0).join('|')}| `, 'g');

/** A text in lower case without spaces, with its units corrected; empty for a text that is too long. */
export const respell = (text: string): string =>
  text.length > LONGEST_NAME
    ? ''
    : lower(text).replace(ALL_SPELLED, (long) =>
        long === ' ' ? '' : (SPELLED[SPELLED.indexOf(long) + 1] as string),
      );
