import { checkCall, checkKey, wrongArgument } from '../base/checks.js';
import type { CostOptions } from '../base/types.js';
import type { Attributes } from './keys.js';

/** Options of a call under a policy. */
export interface PipelineCallOptions extends CostOptions {
  /** The value of `per: key`. Default: empty. */
  key?: string | undefined;
  /** The values of other attributes of `per` and `cost`, by their names, as in `header:x-tenant`. Default: empty. */
  attributes?: Attributes | undefined;
  /** In how many milliseconds the call is cut, as by an outermost timeout named `deadline`. Default: none. */
  deadline?: number | undefined;
  /**
   * False where the function must not run twice at a time: a hedge of the policy
   * starts no attempt beside another then. Default true.
   */
  hedge?: boolean | undefined;
}

/** Their names. */
const NAMES = ['signal', 'cost', 'key', 'attributes', 'deadline', 'hedge'];

/** Throws where options of a call are wrong. */
export function checkCallOptions(options: PipelineCallOptions): void {
  checkCall(options, NAMES);
  const { key, attributes, deadline, hedge } = options;
  if (key !== undefined) checkKey(key);
  if (attributes !== undefined && (!attributes || !/^(ob|fu)/.test(typeof attributes))) {
    wrongArgument('attributes', attributes, 'an object or a function');
  }
  if (deadline !== undefined && (!Number.isFinite(deadline) || deadline < 0)) {
    wrongArgument('deadline', deadline, 'a number of milliseconds, 0 or more; undefined for none');
  }
  if (hedge !== undefined && typeof hedge !== 'boolean') wrongArgument('hedge', hedge, 'true or false');
}
