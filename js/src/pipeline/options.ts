import { checkHooks, checkNames, wrongArgument } from '../base/checks.js';
import type { Classifier, Clock, DelayReader, InstanceOption, RetryAfterReader } from '../base/types.js';
import type { Kept } from './kept.js';
import type { Tracer } from './recording.js';

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
  /** Whose memory it uses. Default `shared`: the memory of all objects that name no other. */
  instance?: InstanceOption | undefined;
  /** Records its calls: what `trace` of `@sluice/core/trace` made. Default: none. */
  trace?: Tracer | undefined;
}

/** The names of the options of a pipeline. */
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

/** The hooks among options, as an object of the same shape as all others: calls read it. */
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
