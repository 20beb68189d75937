// Requests of Fastify.

import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Pipeline } from '../pipeline/pipeline.js';
import { Gate, type GuardOptions } from './admission.js';
import type { Incoming } from './attributes.js';
import { exchange } from './exchange.js';

export { type Admitted, admissionOf, type GuardOptions } from './admission.js';

/**
 * A hook that guards requests by a pipeline, for `onRequest` of an application or a route: refused ones are
 * answered with 429 where a limit refused, else with 503. The place of a request is held until its answer is
 * written or its client has gone; the status decides its outcome. The option `trustProxy` of Fastify says whose `ip` it is.
 *
 * @example
 * app.addHook('onRequest', guard(pipeline([{ limit: { rate: '100/1m', per: 'ip' } }])));
 */
export function guard(pipeline: Pipeline, options?: GuardOptions<FastifyRequest>): onRequestHookHandler {
  const gate = new Gate(pipeline, options, read);
  return (request, reply, done) => {
    if (gate.skips(request)) done();
    else void exchange(gate, request, exchangeOf(reply), (error) => done(error as Error | undefined));
  };
}

const encoder = new TextEncoder();

const read = (request: FastifyRequest): Incoming => ({
  method: request.method,
  url: request.originalUrl,
  header: (name) => [request.headers[name] ?? []].flat().join(', ') || undefined,
  drop: (name) => delete request.headers[name],
  ip: request.ip,
  route: request.routeOptions.url,
});

const exchangeOf = (reply: FastifyReply): Parameters<typeof exchange>[2] => ({
  add(headers) {
    for (const [name, value] of Object.entries(headers)) {
      const before = reply.getHeader(name);
      reply.header(name, before === undefined ? value : `${before}, ${value}`);
    }
  },
  answer({ status, headers, body }) {
    // As bytes: to a text Fastify would add a charset.
    if (!reply.sent) void reply.code(status).headers(headers).send(encoder.encode(body));
  },
  status: () => (reply.raw.writableFinished ? reply.raw.statusCode : undefined),
  onClose: (callback) => void reply.raw.once('close', callback),
});
