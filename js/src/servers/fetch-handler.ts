// Handlers of the form Request to Response, as of Deno, Bun, Workers and many frameworks.

import type { Pipeline } from '../pipeline/pipeline.js';
import { Gate, type GuardOptions, isAnswer, untilCut } from './admission.js';
import type { Answer } from './answers.js';
import { type Incoming, pathOf } from './attributes.js';

export { type Admitted, admissionOf, type GuardOptions } from './admission.js';

/** A handler, with what its runtime passes besides the request. */
export type Handler<A extends readonly unknown[] = []> = (
  request: Request,
  ...rest: A
) => Response | PromiseLike<Response>;

/** How requests of a handler are guarded. */
export interface FetchGuardOptions<A extends readonly unknown[] = []>
  extends Omit<GuardOptions<Request>, 'ip'> {
  /**
   * The address of the client, from what the runtime passes to the handler: of Deno `info.remoteAddr.hostname`, of Bun
   * `server.requestIP(request).address`, of Workers the header `cf-connecting-ip`. A policy that asks for `ip` needs it.
   */
  ip?: ((request: Request, ...rest: A) => string) | undefined;
}

/**
 * Guards a handler by a pipeline: refused requests are answered with 429 where a limit refused, else with 503. The place
 * of a request is held until the handler has returned its answer; the status decides its outcome, and an error counts as 500.
 * A `Request` does not know the address of the client: a policy that asks for `ip` needs the option `ip`; without it `guard` throws.
 *
 * @example
 * export default { fetch: guard(pipeline([{ limit: { rate: '100/1m', per: 'header:x-api-key' } }]), handler) };
 */
export function guard<A extends readonly unknown[]>(
  pipeline: Pipeline,
  handler: Handler<A>,
  options?: FetchGuardOptions<A>,
): (request: Request, ...rest: A) => Promise<Response> {
  const { ip, ...others } = options ?? {};
  // What the runtime passes besides a request is known to the option `ip` alone.
  const passed = new WeakMap<Request, A>();
  const address =
    typeof ip === 'function' ? (request: Request) => ip(request, ...(passed.get(request) as A)) : ip;
  const gate = new Gate<Request>(pipeline, { ...others, ip: address }, read, false);
  return async (request, ...rest) => {
    if (ip) passed.set(request, rest as unknown as A);
    if (gate.skips(request)) return handler(request, ...rest);
    const { signal } = request;
    const verdict = await gate.admit(request, request, signal);
    if (isAnswer(verdict)) return answerOf(verdict);
    const run = async (): Promise<Response> => handler(request, ...rest);
    let status: number | undefined = 500;
    try {
      const result = await untilCut(verdict, run());
      const response = result instanceof Response ? withFields(result, verdict.headers) : answerOf(result);
      status = response.status;
      return response;
    } finally {
      verdict.end(signal.aborted ? undefined : status);
    }
  };
}

const read = (request: Request): Incoming => ({
  method: request.method,
  url: pathOf(request.url),
  header: (name) => request.headers.get(name) ?? (name === 'host' ? new URL(request.url).host : undefined),
  ip: '',
});

const answerOf = ({ status, headers, body }: Answer): Response => new Response(body, { status, headers });

/** An answer with further headers. The fields of an answer that fetch or redirect() made cannot be changed. */
function withFields(response: Response, fields: { [name: string]: string }): Response {
  const all = Object.entries(fields);
  if (!all.length) return response;
  try {
    for (const [name, value] of all) response.headers.append(name, value);
    return response;
  } catch {
    const copy = new Response(response.body, response);
    for (const [name, value] of all) copy.headers.append(name, value);
    return copy;
  }
}
