import { wrongArgument } from '../base/checks.js';
import type { Duration } from '../base/types.js';
import { bytesOf } from './bytes.js';
import { DURATION_TEXT, isWrong, parseDuration } from './quantities.js';

/** The milliseconds of a duration, at least one nanosecond. */
export function millisecondsOf(path: string, duration: Duration): number {
  const span = typeof duration === 'string' ? parseDuration(bytesOf(duration), 1) : 'malformed';
  return isWrong(span) ? wrongArgument(path, duration, DURATION_TEXT) : Number(span) / 1e6;
}
