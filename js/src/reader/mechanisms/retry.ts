import { RETRY } from '../../generated/table.js';
import { defaultJitter } from '../backoff.js';
import type { Mechanism, Settings } from '../settings.js';

const budgeted = (s: Settings): boolean => s.has('budget') && !s.none('budget');

export const retry: Mechanism = {
  row: RETRY,
  check(s) {
    if (!s.has('jitter')) s.set('jitter', ...defaultJitter(s.first('backoff')));
    if (!budgeted(s)) s.set('budget', 0);
  },
  needsCells: budgeted,
};
