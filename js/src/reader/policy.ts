import { readCondition } from './conditions.js';
import { type Fields, fieldsOf } from './fields.js';
import { POLICY_NAMES, POLICY_TEXT } from './names.js';
import { BOOL, MAP, type Node } from './node.js';
import { checkOutcomes } from './outcomes.js';
import type { Problems } from './problems.js';
import { asInteger, isText } from './quantities.js';
import { copy } from './resolve.js';
import type { Condition, ReadPolicy, Step } from './result.js';
import { readSteps } from './steps.js';
import { readMechanisms, withoutUses } from './uses.js';

/** Reads the body of one policy, by itself, which may have mechanisms of its own. */
export function readPolicy(problems: Problems, n: Node): ReadPolicy {
  const mechanisms = n.kind === MAP && n.items.find(({ key }) => key === 'mechanisms');
  if (mechanisms) readMechanisms(problems, mechanisms);
  return readOf(problems, n, [...POLICY_NAMES, 'mechanisms']);
}

/** Reads the body of one policy with entries of known names. */
export function readOf(problems: Problems, n: Node, names: readonly string[]): ReadPolicy {
  const fields = fieldsOf(problems, n, POLICY_TEXT, names);
  const read = fields ? readBody(problems, fields) : [];
  const fallback = fields?.get('fallback');
  if (fallback) checkFallback(problems, fallback);
  const description = fields?.get('description');
  if (description) isText(problems, description, 'a text');
  const outcomes = fields?.get('outcomes');
  if (outcomes) checkOutcomes(problems, outcomes);
  const lists: { allow?: Condition; deny?: Condition } = {};
  const allow = fields?.get('allow');
  if (allow) lists.allow = readCondition(problems, allow);
  const deny = fields?.get('deny');
  if (deny) {
    lists.deny = readCondition(problems, deny);
    if (read.some(({ name }) => name === 'deny')) {
      problems.failKey(deny, 'deny beside a step of the name deny', 'deny beside steps of other names');
    }
  }
  const steps = fields?.get('steps');
  const items = steps && withoutUses(problems, steps.items);
  const plain = items && copy(n, [...n.items.filter(isPlain), copy(steps, items)]);
  return { steps: read, fallback: fallback !== undefined, ...lists, ...(plain && { plain }) };
}

/** Whether an entry is one of a policy whose steps use no mechanisms. */
const isPlain = ({ key }: Node): boolean => key !== 'steps' && key !== 'mechanisms';

/** Reads the steps, or what is in their place. */
function readBody(problems: Problems, fields: Fields): readonly Step[] {
  const base = fields.get('extends');
  if (base) problems.failKey(base, 'extends in a policy alone', 'extends in a document with other policies');
  for (const name of CHANGES) fields.refuse(name, 'without extends', 'beside extends');
  const pass = fields.get('pass');
  if (pass) {
    if (pass.kind !== BOOL || pass.text !== 'true') problems.mistyped(pass, 'true, or steps in its place');
    fields.refuse('steps', 'beside pass', 'or pass');
    return [];
  }
  const changes = ['extends', ...CHANGES].some((name) => fields.get(name));
  const steps = changes
    ? fields.get('steps')
    : fields.need('steps', 'a list of steps, outermost first, or pass: true');
  return steps ? readSteps(problems, steps) : [];
}

const CHANGES = ['change', 'add', 'remove'];

/** Reads the answer in place of a refusal. */
function checkFallback(problems: Problems, n: Node): void {
  const fields = fieldsOf(problems, n, 'a fallback: a map of status and body', ['status', 'body']);
  const status = fields?.get('status');
  if (status) asInteger(problems, status, 100, 599);
  const body = fields?.get('body');
  if (body) isText(problems, body, 'a text');
}
