import { quote } from './bytes.js';
import { nearest, orList } from './names.js';
import type { Node } from './node.js';
import type { Problems } from './problems.js';

/** The most names that an error lists. */
const MAX_LISTED = 8;

/** Reports a name that is that of no policy; the names of a document are known. */
export function unknownPolicy(
  problems: Problems,
  n: Node,
  name: string,
  names: readonly string[],
  allowed?: string,
): void {
  // A name with a space or without any character is an error itself.
  const known = problems.full ? [] : names.filter((one) => /^[^ ]+$/.test(one));
  const list = known.length && known.length <= MAX_LISTED ? `: ${orList(known)}` : '';
  problems.fail(
    n,
    `the policy ${quote(name)}, which is not there`,
    allowed ?? `the name of a policy of this document${list}`,
    nearest(name, known),
  );
}
