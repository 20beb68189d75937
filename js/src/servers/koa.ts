// Requests of Koa. Its types are in a package of its own, which is not needed here.

import type { Pipeline } from '../pipeline/pipeline.js';
import { type Admission, Gate, type GuardOptions, isAnswer, untilCut } from './admission.js';
import type { Answer } from './answers.js';
import type { Incoming } from './attributes.js';

export { type Admitted, admissionOf, type GuardOptions } from './admission.js';

/** What is used of a context of Koa. */
export interface KoaContext {
  readonly method: string;
  readonly originalUrl: string;
  readonly ip: string;
  status: number;
  body: unknown;
  /** The request of Node. */
  readonly req: { readonly headers: { [name: string]: unknown } };
  /** The answer of Node. */
  readonly res: {
    /** Adds a listener for the end of the answer. */
    once(event: 'close', callback: () => void): unknown;
  };
  /** Returns a field of the request, empty for none. */
  get(field: string): string;
  /** Sets fields of the answer. */
  set(fields: { [field: string]: string }): void;
  /** Adds a field to the answer. */
  append(field: string, value: string): void;
}

/**
 * A middleware that guards requests by a pipeline: refused ones are answered with 429 where a limit refused, else
 * with 503. The place of a request is held until the middleware behind it has returned; the status decides its outcome.
 * `app.proxy` says whose `ip` it is.
 *
 * @example
 * app.use(guard(pipeline([{ limit: { rate: '100/1m', per: 'ip' } }])));
 */
export function guard<C extends KoaContext>(
  pipeline: Pipeline,
  options?: GuardOptions<C>,
): (context: C, next: () => Promise<unknown>) => Promise<unknown> {
  const gate = new Gate(pipeline, options, read);
  return async (context, next) => {
    if (gate.skips(context)) return next();
    const gone = new AbortController();
    context.res.once('close', () => gone.abort());
    let verdict: Admission | Answer;
    try {
      verdict = await gate.admit(context, context, gone.signal);
    } catch (error) {
      if (gone.signal.aborted) return undefined;
      throw error;
    }
    if (isAnswer(verdict)) return answer(context, verdict);
    for (const [name, value] of Object.entries(verdict.headers)) context.append(name, value);
    let status: number | undefined = 500;
    try {
      const late = await untilCut(
        verdict,
        next().then(() => undefined),
      );
      if (late) answer(context, late);
      status = context.status;
    } catch (error) {
      status = (error as { status?: number } | null)?.status ?? 500;
      throw error;
    } finally {
      verdict.end(gone.signal.aborted ? undefined : status);
    }
    return undefined;
  };
}

const read = (context: KoaContext): Incoming => ({
  method: context.method,
  url: context.originalUrl,
  header: (name) => context.get(name) || undefined,
  drop: (name) => delete context.req.headers[name],
  ip: context.ip,
});

function answer(context: KoaContext, { status, headers, body }: Answer): void {
  context.status = status;
  context.body = body;
  context.set(headers);
}
