import { fieldsOf } from './fields.js';
import { type Node, NUMBER, TEXT } from './node.js';
import { attribute } from './per.js';
import type { Problems } from './problems.js';
import { asInteger } from './quantities.js';
import type { Values } from './row.js';
import type { Reader } from './settings.js';

const ATTRIBUTE_TEXT = 'header:NAME, cookie:NAME or query:NAME';
const COST_TEXT = `a whole number of permits, ${ATTRIBUTE_TEXT}, or {attribute: NAME, default: n}`;

/** The attribute of a cost and the cost of a call without it, as values: the cost, and the bytes of the attribute. */
function valuesOf(problems: Problems, n: Node, allowed: string, permits: number): Values | undefined {
  const [text, whole] = attribute(problems, n, [], allowed);
  return whole ? [permits, ...Array.from(text, (byte) => byte.charCodeAt(0))] : undefined;
}

/** How many permits a call takes: a number, an attribute, whose default is 1, or a map of both. */
export const cost: Reader = ({ problems }, n, { least = 0, most = 0 }) => {
  if (n.kind === NUMBER) {
    const permits = asInteger(problems, n, least, most);
    return permits === undefined ? undefined : [permits];
  }
  if (n.kind === TEXT) return valuesOf(problems, n, COST_TEXT, 1);
  const fields = fieldsOf(problems, n, COST_TEXT, ['attribute', 'default']);
  if (!fields) return undefined;
  const given = fields.get('default');
  const permits = given ? asInteger(problems, given, 0, most) : 1;
  const named = fields.need('attribute', ATTRIBUTE_TEXT);
  const values = named && valuesOf(problems, named, ATTRIBUTE_TEXT, permits ?? 1);
  return permits === undefined ? undefined : values;
};

/** Refuses a setting of steps on a mechanism alone: its calls name their costs, and end without an outcome. */
export const notAlone: Reader = ({ problems }, n, { name }) => {
  problems.failKey(n, `${name} on a mechanism alone`, `${name} in a pipeline`);
  return undefined;
};
