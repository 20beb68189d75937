// What the entries of a single mechanism read: values of the types that their mechanisms have.

import { backoff, jitter, openTime } from './backoff.js';
import { count, duration, onlyNone, rate, share, word } from './readers.js';
import { map, oneOf, type Readers } from './settings.js';

export const LIMIT_READERS: Readers = { count, duration, rate, word };
export const BREAKER_READERS: Readers = { count, duration, map, one_of: oneOf, open_time: openTime, share };
/** The module of retries has no budgets. */
export const RETRY_READERS: Readers = { backoff, budget: onlyNone, count, jitter, methods: onlyNone };
