import { MECHANISMS } from '../generated/mechanisms.js';
import { backoff, blockTime, jitter, openTime } from './backoff.js';
import { bound } from './bound.js';
import { budget } from './budget.js';
import { rate, zone } from './calendar.js';
import { classAttribute, classRates } from './conditions.js';
import { cost } from './cost.js';
import { delay } from './delay.js';
import { methods } from './methods.js';
import { bool, chance, count, duration, share, word } from './readers.js';
import { type Mechanism, map, oneOf, type Readers } from './settings.js';
import { words } from './words.js';

export type MechanismName = keyof typeof MECHANISMS;

/** The key of a step that uses a mechanism which policies share. */
export const USE = 'use';

/** The mechanism of a name. */
export const mechanismOf = (name: string): Mechanism | undefined =>
  Object.hasOwn(MECHANISMS, name) ? MECHANISMS[name as MechanismName] : undefined;

/** Readers of all values. */
export const READERS: Readers = {
  attribute: classAttribute,
  backoff,
  block_time: blockTime,
  bool,
  bound,
  budget,
  chance,
  cost,
  count,
  delay,
  duration,
  jitter,
  map,
  methods,
  one_of: oneOf,
  open_time: openTime,
  rate,
  rates: classRates,
  share,
  word,
  words,
  zone,
};
