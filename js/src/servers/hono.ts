// Requests of Hono, on any runtime.

import type { Context, MiddlewareHandler } from 'hono';
import type { Pipeline } from '../pipeline/pipeline.js';
import { Gate, type GuardOptions, isAnswer, untilCut } from './admission.js';
import type { Answer } from './answers.js';
import { type Incoming, pathOf } from './attributes.js';

export { type Admitted, admissionOf, type GuardOptions } from './admission.js';

/**
 * A middleware that guards requests by a pipeline: refused ones are answered with 429 where a limit refused, else
 * with 503. The place of a request is held until the handler has returned its answer; the status decides its outcome.
 * Hono does not know the address of the client: a policy that asks for `ip` needs the option `ip`, for which each runtime has
 * a `getConnInfo`; without it `guard` throws. `admissionOf` takes `c.req.raw`.
 *
 * @example
 * import { getConnInfo } from '@hono/node-server/conninfo';
 * const ip = (c: Context) => getConnInfo(c).remote.address ?? '';
 * app.use(guard(pipeline([{ limit: { rate: '100/1m', per: 'ip' } }]), { ip }));
 */
export function guard(pipeline: Pipeline, options?: GuardOptions<Context>): MiddlewareHandler {
  const gate = new Gate(pipeline, options, read, false);
  return async (context, next) => {
    if (gate.skips(context)) return next();
    const { raw } = context.req;
    const verdict = await gate.admit(context, raw, raw.signal);
    if (isAnswer(verdict)) return answerOf(verdict);
    let status: number | undefined = 500;
    try {
      // Hono turns errors of handlers into answers.
      const late = await untilCut(
        verdict,
        next().then(() => undefined),
      );
      const answer = late ? answerOf(late) : context.res;
      status = answer.status;
      if (late) return answer;
      for (const [name, value] of Object.entries(verdict.headers)) {
        context.header(name, value, { append: true });
      }
    } finally {
      verdict.end(raw.signal.aborted ? undefined : status);
    }
  };
}

const read = (context: Context): Incoming => ({
  method: context.req.method,
  url: pathOf(context.req.url),
  header: (name) => context.req.header(name) ?? (name === 'host' ? new URL(context.req.url).host : undefined),
  ip: '',
  route: context.req.routePath,
});

const answerOf = ({ status, headers, body }: Answer): Response => new Response(body, { status, headers });
