import { checkAlone, checkHooks } from '../base/checks.js';
import type { Classifier, CommonOptions } from '../base/types.js';
import { settings } from '../engine/shared.js';
import { Pipeline } from './pipeline.js';
import type { HedgeOptions } from './policy.js';

/** Runs further attempts of a call while one still runs. Make one with `hedge`. */
export interface Hedge
  extends Pick<Pipeline, 'execute' | 'attempt' | 'on' | 'dispose' | typeof Symbol.dispose> {
  /** Replaces the settings; running calls keep theirs. Throws `PolicyError` and changes nothing where they are wrong. */
  configure(options: HedgeOptions): void;
}

/**
 * A hedge: where an attempt takes long, another one starts beside it, and the first good result is the result of the
 * call. The function learns its number from `attempt`, and by `hedge` whether it is an additional one; an `end` says
 * which one `won`. Throws `PolicyError` for wrong options.
 *
 * @example
 * const search = hedge({ after: 'p95', budget: '10%' });
 * await search.execute(({ hedge, signal }) => fetch(hedge ? replica : primary, { signal }));
 */
export function hedge(options: HedgeOptions & CommonOptions & Classifier): Hedge;
export function hedge(options: HedgeOptions & CommonOptions & Classifier, more?: unknown): Hedge {
  checkAlone('hedge', more);
  const { clock, outcome, stack, instance } = checkHooks('hedge', options) as CommonOptions & Classifier;
  const hooks = { clock, outcome, stack, instance };
  return new Pipeline([{ hedge: settings(options) as HedgeOptions }], hooks, 'hedge');
}
