// The mechanisms that have an object of their own, each with what reads its values, so that an application has no more than it imports.

import { breaker, bulkhead, limit, retry } from '../generated/mechanisms.js';
import { backoff, blockTime, jitter, openTime } from './backoff.js';
import { rate, zone } from './calendar.js';
import { notAlone } from './cost.js';
import { count, duration, onlyFirst, onlyNone, share, word } from './readers.js';
import { type Mechanism, map, oneOf, type Readers } from './settings.js';

/** A mechanism whose options are read without a document. */
export interface Alone {
  readonly mechanism: Mechanism;
  readonly readers: Readers;
}

export const limitAlone: Alone = {
  mechanism: limit,
  readers: {
    attribute: notAlone,
    block_time: blockTime,
    cost: notAlone,
    count,
    duration,
    map,
    rate,
    rates: notAlone,
    word,
    words: notAlone,
    zone,
  },
};
export const breakerAlone: Alone = {
  mechanism: breaker,
  readers: { count, duration, map, one_of: oneOf, open_time: openTime, share, word },
};
export const bulkheadAlone: Alone = {
  mechanism: bulkhead,
  readers: { cost: notAlone, count, duration, word },
};
/** For the module of retries, which has no budgets. */
export const retryAlone: Alone = {
  mechanism: retry,
  readers: { backoff, budget: onlyNone, count, duration, jitter, methods: onlyNone, word: onlyFirst },
};
