import { quote } from './bytes.js';
import { nearest, orList } from './names.js';
import type { Node } from './node.js';
import type { Problems } from './problems.js';

/** The most names that an error lists. */
const MAX_LISTED = 8;

/**
 * Reports a name that no policy has; the names of a document are known. The word `alone` is allowed as well; `allowed`
 * is the whole text where no names are listed.
 */
export function unknownPolicy(
  problems: Problems,
  n: Node,
  name: string,
  names: readonly string[],
  { allowed, alone }: { allowed?: string; alone?: string } = {},
): void {
  // A name with a space or without any character is an error itself.
  const known = problems.full ? [] : names.filter((one) => /^[^ ]+$/.test(one));
  const list = known.length && known.length <= MAX_LISTED ? `: ${orList(known)}` : '';
  const text = `${alone ? `${alone}, or ` : ''}the name of a policy of this document${list}`;
  problems.fail(
    n,
    `the policy ${quote(name)}, which is not there`,
    allowed ?? text,
    nearest(name, alone && !problems.full ? [alone, ...known] : known),
  );
}
