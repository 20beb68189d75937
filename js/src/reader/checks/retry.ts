import { defaultJitter } from '../backoff.js';
import type { Settings } from '../settings.js';

/** The jitter follows the backoff, and the word none is no budget. */
export function check(s: Settings): void {
  if (!s.has('jitter')) s.set('jitter', ...defaultJitter(s.first('backoff')));
  if (s.none('budget')) s.set('budget', 0);
}
