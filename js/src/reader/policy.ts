import { fieldsOf } from './fields.js';
import type { Node } from './node.js';
import { checkOutcomes } from './outcomes.js';
import type { Problems } from './problems.js';
import { asInteger, isText } from './quantities.js';
import type { Step } from './step.js';
import { readSteps } from './steps.js';

/** A policy that was read. */
export interface ReadPolicy {
  readonly steps: readonly Step[];
  readonly fallback: boolean;
}

/** Reads the body of one policy. */
export function readPolicy(problems: Problems, n: Node): ReadPolicy {
  const allowed = 'a policy: a map of steps, fallback and outcomes';
  const fields = fieldsOf(problems, n, allowed, ['steps', 'fallback', 'outcomes']);
  const steps = fields?.need('steps', 'a list of steps, outermost first');
  const fallback = fields?.get('fallback');
  const read = steps ? readSteps(problems, steps) : [];
  if (fallback) checkFallback(problems, fallback);
  const outcomes = fields?.get('outcomes');
  if (outcomes) checkOutcomes(problems, outcomes);
  return { steps: read, fallback: fallback !== undefined };
}

/** Reads the answer in place of a refusal. */
function checkFallback(problems: Problems, n: Node): void {
  const fields = fieldsOf(problems, n, 'a fallback: a map of status and body', ['status', 'body']);
  const status = fields?.get('status');
  if (status) asInteger(problems, status, 100, 599);
  const body = fields?.get('body');
  if (body) isText(problems, body, 'a text');
}
