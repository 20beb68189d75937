import { x } from '../engine.js';
import { backoffNumbers } from './backoff.js';
import type { Reading } from './compile.js';
import { whole, wrong } from './values.js';

/** Settings of a retry. Its maker is the retry itself, and has no budgets. */
export const retry: Reading = {
  names: ['attempts', 'backoff', 'jitter', 'budget'],
  short: (value) => (typeof value === 'number' ? { attempts: value } : undefined),
  numbers(fields) {
    const budget = fields.get('budget') ?? 'none';
    if (budget !== 'none') wrong('retry.budget', budget, 'none, or in @sluice/core');
    const backoff = fields.get('backoff') ?? { exponential: '500ms' };
    return [
      fields.read('attempts', whole(1, 1000), '1 to 1000', 3),
      ...backoffNumbers('retry.backoff', backoff, fields.get('jitter')),
    ];
  },
  make: () => x.retry,
};
