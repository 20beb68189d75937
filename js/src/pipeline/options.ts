import { checkCall, checkHooks, checkKey, checkNames, wrongArgument } from '../base/checks.js';
import type { Classifier, Clock, CostOptions, DelayReader, RetryAfterReader } from '../base/types.js';
import type { InstanceOption } from '../engine/engine.js';
import type { Tracer } from './recording.js';
import type { Kept } from './kept.js';
import type { Attributes } from './keys.js';

/** Functions that a pipeline calls with results. */
export interface ResultHooks extends Classifier, RetryAfterReader, DelayReader {
  /**
   * Returns the value of a call in place of a refusal, a timeout, and a last attempt that failed or was throttled; with or
   * without a `fallback` of the policy, which answers requests. A call that the policy denies is refused. Default: none;
   * the call is refused or fails.
   */
  fallback?: ((error: unknown) => unknown) | undefined;
  /** Called with a value that no caller will see: of an attempt that is retried, or that came after its cut. */
  discard?: ((value: unknown) => unknown) | undefined;
  /** Gives a `RejectedError` a stack, which takes some microseconds. Default false. */
  stack?: boolean | undefined;
}

/** Has values that are still read when their calls have ended. */
export interface Keeper {
  /** Whether a value is one. */
  reads(value: unknown): boolean;
  /** Returns what the caller gets in place of a value; that ends what the call keeps, once. */
  keep(value: unknown, kept: Kept): unknown;
}

/** The hooks of a call. */
export interface Hooks extends ResultHooks {
  readonly keeper: Keeper | undefined;
}

/** What a pipeline takes besides its policy. */
export interface PipelineOptions extends ResultHooks {
  /** The name of the policy, where the document has several. */
  name?: string | undefined;
  /** The clock. Default: the monotonic clock of the runtime. */
  clock?: Clock | undefined;
  /** Whose memory it uses. Default `shared`: that of all objects that name no other. */
  instance?: InstanceOption | undefined;
  /** Records its calls: what `trace` of `@sluice/core/trace` made. Default: none. */
  trace?: Tracer | undefined;
}

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

/** The names of the options of a pipeline and of its calls. */
const NAMES = [
  'name',
  'clock',
  'outcome',
  'retryAfter',
  'delay',
  'fallback',
  'discard',
  'stack',
  'instance',
  'trace',
];
const CALL_NAMES = ['signal', 'cost', 'key', 'attributes', 'deadline', 'hedge'];

/** The hooks among options, as an object whose shape is that of all others: calls read it. */
export const hooksOf = ({ outcome, retryAfter, delay, fallback, discard, stack }: ResultHooks): Hooks => ({
  outcome,
  retryAfter,
  delay,
  fallback,
  discard,
  stack,
  keeper: undefined,
});

/** Options of a pipeline, whose names and functions are checked. */
export function checkOptions(path: string, options: PipelineOptions = {}): PipelineOptions {
  if (Object(options) !== options || typeof options === 'function') {
    wrongArgument(path, options, `an object with ${NAMES.join(', ')}`);
  }
  checkNames(path, options, NAMES);
  checkHooks(path, options);
  if (options.name !== undefined && typeof options.name !== 'string') {
    wrongArgument(`${path}.name`, options.name, 'a string');
  }
  const { trace } = options;
  if (trace !== undefined && typeof (trace as Tracer | null)?.attach !== 'function') {
    wrongArgument(`${path}.trace`, trace, 'what trace() of @sluice/core/trace returned');
  }
  return options;
}

/** Throws where options of a call are wrong. */
export function checkCallOptions(options: PipelineCallOptions): void {
  checkCall(options, CALL_NAMES);
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
