import { bytesOf } from '../reader/bytes.js';
import { DURATION_TEXT, isWrong, parseDuration } from '../reader/quantities.js';
import { wrongArgument } from './checks.js';
import type { Duration } from './types.js';

/** The milliseconds of a duration, at least one nanosecond. */
export function millisecondsOf(path: string, duration: Duration): number {
  const span = typeof duration === 'string' ? parseDuration(bytesOf(duration), 1) : 'malformed';
  return isWrong(span) ? wrongArgument(path, duration, DURATION_TEXT) : Number(span) / 1e6;
}
