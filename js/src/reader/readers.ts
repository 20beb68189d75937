import { asBool, asChance, asDuration, asInteger, asShare, asWord } from './quantities.js';
import type { Reader } from './settings.js';

const list = (value: number | bigint | undefined): readonly (number | bigint)[] | undefined =>
  value === undefined ? undefined : [value];

export const bool: Reader = ({ problems }, n) => [asBool(problems, n) ? 1 : 0];
export const chance: Reader = ({ problems }, n) => list(asChance(problems, n));
export const count: Reader = ({ problems }, n, { least = 0, most = 0 }) =>
  list(asInteger(problems, n, least, most));
export const duration: Reader = ({ problems }, n, { least = 0 }) => list(asDuration(problems, n, least));
export const share: Reader = ({ problems }, n) => list(asShare(problems, n));
export const word: Reader = ({ problems }, n, { words = '' }) => list(asWord(problems, n, words.split(' ')));

/** The first word, where a module has nothing else. */
export const onlyFirst: Reader = (s, n, part, name) => {
  const found = word(s, n, part, name);
  if (!found?.[0]) return found;
  s.problems.mistyped(n, `${part.words?.split(' ')[0]}, or in a step of a policy`);
  return undefined;
};

/** The word none, where a module has nothing else. */
export const onlyNone: Reader = (s, n, { name }) => {
  if (s.none(name)) return [0];
  s.problems.mistyped(n, 'none, or in @sluice/core');
  return undefined;
};
