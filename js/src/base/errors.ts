import type { Reason, Rejection } from './types.js';

/**
 * One mistake in a document, options or arguments.
 */
export interface Problem {
  /** Where it is, as in `steps[0].limit.rate`; empty for the whole. */
  readonly path: string;
  /** What was found there. */
  readonly found: string;
  /** What is allowed there. */
  readonly allowed: string;
  /** The most similar known name, where a name is unknown and one is similar. */
  readonly nearest: string | undefined;
  /** The line in a document that is text, from 1. */
  readonly line?: number | undefined;
  /** The column, from 1: a character is one. */
  readonly column?: number | undefined;
}

/**
 * The kind of mistake: in options or a document, an argument, a snapshot, too much of
 * something, an object that was disposed. `out-of-memory`: the memory of the instance
 * has reached its limit; nothing has changed.
 */
export type PolicyErrorCode =
  | 'bad-policy'
  | 'bad-argument'
  | 'bad-size'
  | 'bad-bytes'
  | 'bad-handle'
  | 'out-of-memory';

/**
 * Thrown for options, documents and arguments that are wrong. The message has one
 * line for each problem.
 */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
  constructor(
    readonly code: PolicyErrorCode,
    message: string,
    /** The problems one by one. */
    readonly problems: readonly Problem[] = [problem(message)],
  ) {
    super(message);
    // The caller's own line is behind the lines of this package. A class that names itself gets another name in the
    // build.
    const type = new.target;
    withStack(FRAMES, () => V8.captureStackTrace?.(this, type));
  }
}

// PATH: found WHAT; allowed WHAT; did you mean NAME?
function problem(line: string): Problem {
  const [, path = '', found = line, allowed = '', nearest] =
    /^(?:(.*?): )?found (.*?)(?:; allowed:? (.*?))?(?:; did you mean (.*)\?)?$/.exec(line) ?? [];
  return { path, found, allowed, nearest };
}

/**
 * Thrown by the throwing facades when a policy refuses a call. It has no stack
 * without the option `stack`: a refusal is no defect, and under load there are many.
 */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
  /** The step that refused. */
  readonly step: string;
  /** Why. */
  readonly reason: Reason;
  /**
   * The least time in milliseconds after which the step would not refuse the
   * same call if nothing else happened; undefined where none is known.
   */
  readonly retryAfter: number | undefined;

  constructor(rejection: Rejection, cause?: unknown) {
    super(`${rejection.step}: rejected: ${rejection.reason}`, cause === undefined ? undefined : { cause });
    this.step = rejection.step;
    this.reason = rejection.reason;
    this.retryAfter = rejection.retryAfter;
  }
}

const inherited = Function.prototype[Symbol.hasInstance];

/** Makes the error of another copy or entry of the package, or of another realm, an instance, too. */
export function branded(type: { readonly prototype: Error }, name: string): void {
  const brand = Symbol.for(`@sluice/core ${name}`);
  Object.defineProperty(type.prototype, brand, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      return this === type ? brand in Object(value) : inherited.call(this as never, value);
    },
  });
}

branded(PolicyError, 'PolicyError');
branded(RejectedError, 'RejectedError');

/** What V8 has besides, and other engines in part. */
const V8: ErrorConstructor & {
  stackTraceLimit?: number;
  captureStackTrace?(error: object, above: unknown): void;
} = Error;

/** How many lines the stack of a mistake has. */
const FRAMES = 30;

/** Makes an error with so many lines of a stack, where the runtime can. */
function withStack<T>(frames: number, make: () => T): T {
  // By Reflect: where Error is frozen, as under SES, an assignment throws.
  const { stackTraceLimit } = V8;
  if (stackTraceLimit === undefined || !Reflect.set(Error, 'stackTraceLimit', frames)) return make();
  try {
    return make();
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}

// A stack costs more than all the rest of a refusal: 2 us of 2.3.
export const stackless = <T>(make: () => T): T => withStack(0, make);

/** The error of what was disposed. */
export const disposed = (): PolicyError =>
  new PolicyError('bad-handle', 'found a disposed object; allowed before dispose()');

/** A refusal as a value. */
export const refusal = (step: string, reason: Reason, retryAfter?: number): Rejection => ({
  ok: false,
  step,
  reason,
  retryAfter,
});

/** A refusal that holds until a time. */
export function refusalUntil(step: string, reason: Reason, now: number, until: number): Rejection {
  let after = until - now;
  // A difference of floats may be too small.
  if (now + after < until) after += until * Number.EPSILON;
  return refusal(step, reason, after);
}

/** The error of a refusal. */
export const rejected = (rejection: Rejection, cause?: unknown, stack = false): RejectedError =>
  stack ? new RejectedError(rejection, cause) : stackless(() => new RejectedError(rejection, cause));

/** What a call gives that was not refused, for either facade. */
export const success = (asValue: boolean, value: unknown): unknown => (asValue ? { ok: true, value } : value);
