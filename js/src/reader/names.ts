/** The longest unknown name for which a near one is looked for. */
export const LONGEST_NAME = 48;

/** A list as `a, b or c`. */
export const orList = (names: readonly string[]): string =>
  [names.slice(0, -1).join(', '), ...names.slice(-1)].filter(Boolean).join(' or ');

/** Case and hyphens make no difference. */
const fold = (name: string): string => name.replace(/[A-Z-]/g, (c) => (c === '-' ? '_' : c.toLowerCase()));

/**
 * The name of a list that an unknown one may have meant: the same but for case and
 * underscores, the one with the fewest typing slips, or one that it contains, as
 * circuit_breaker does breaker. Empty where none is near.
 */
export function nearest(unknown: string, names: readonly string[]): string {
  let best = '';
  if (unknown.length > LONGEST_NAME) return best;
  const name = fold(unknown);
  // A contained name is worse than any number of slips. Too many names contain a shorter one by chance.
  let fewest = LONGEST_NAME;
  let longest = 3;
  for (const candidate of names) {
    const { length } = candidate;
    const folded = fold(candidate);
    const most = Math.min(3, Math.floor((Math.max(name.length, length) + 1) / 3));
    const slips = distance(name, folded, most);
    if (slips <= most && slips < length && slips < fewest) {
      best = candidate;
      fewest = slips;
    } else if (fewest === LONGEST_NAME && length > longest && name.includes(folded)) {
      best = candidate;
      longest = length;
    }
  }
  return best;
}

/**
 * The characters to insert, delete, change, or swap with a neighbour on the way from a to
 * b (optimal string alignment), or more than `most` where they are more.
 */
function distance(a: string, b: string, most: number): number {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  const from = a.slice(same);
  const to = b.slice(same);
  if (!from || !to) return from.length + to.length;
  if (most === 0) return 1;
  const next = (i: number, j: number): number => distance(from.slice(i), to.slice(j), most - 1);
  let fewest = Math.min(next(1, 1), next(1, 0), next(0, 1));
  if (to.length > 1 && from[0] === to[1] && from[1] === to[0]) fewest = Math.min(fewest, next(2, 2));
  return fewest + 1;
}

/** What every error about a name allows. */
export const NAME_TEXT =
  'a name of lower-case letters, digits and hyphens that begins with a letter or a digit';

/** The name of the caller's deadline, and what an error about it says. */
export const RESERVED = 'deadline';
export const RESERVED_FOUND = 'the reserved name "deadline"';
export const RESERVED_TEXT = "any other name; deadline is the caller's own deadline";

export const validName = (name: string): boolean => /^[a-z\d][a-z\d-]*$/.test(name);

/** A suggestion for a name that is not valid. */
export function nearName(name: string): string {
  const near = fold(name).replace(/[ _.]/g, '-');
  return near.length <= LONGEST_NAME && validName(near) ? near : '';
}

/** The names of a policy. The names of changes are not in a plain one. */
export const POLICY_NAMES = [
  'steps',
  'pass',
  'extends',
  'change',
  'add',
  'remove',
  'allow',
  'deny',
  'fallback',
  'outcomes',
  'description',
];
export const POLICY_TEXT = 'a policy: a map of steps, fallback and outcomes';
