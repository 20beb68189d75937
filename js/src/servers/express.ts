// Requests of Express, or of anything over node:http that has its request and response.

import type { Request, RequestHandler, Response } from 'express';
import type { Pipeline } from '../pipeline/pipeline.js';
import { Gate, type GuardOptions } from './admission.js';
import type { Incoming } from './attributes.js';
import { exchange } from './exchange.js';

export { type Admitted, admissionOf, type GuardOptions } from './admission.js';

/**
 * A middleware that guards requests by a pipeline: refused ones are answered with 429 where a limit refused, else
 * with 503. The place of a request is held until its answer is written or its client has gone; the status decides
 * its outcome. `app.set('trust proxy', ...)` says whose `ip` it is.
 *
 * @example
 * app.use(guard(pipeline([{ limit: { rate: '100/1m', per: 'ip' } }])));
 */
export function guard(pipeline: Pipeline, options?: GuardOptions<Request>): RequestHandler {
  const gate = new Gate(pipeline, options, read);
  return (request, response, next) => {
    if (gate.skips(request)) next();
    else void exchange(gate, request, exchangeOf(response), next);
  };
}

const read = (request: Request): Incoming => ({
  method: request.method,
  url: request.originalUrl,
  header: (name) => request.get(name),
  drop: (name) => delete request.headers[name],
  ip: request.ip ?? '',
  route: request.route?.path,
});

const exchangeOf = (response: Response): Parameters<typeof exchange>[2] => ({
  add(headers) {
    for (const [name, value] of Object.entries(headers)) response.append(name, value);
  },
  answer({ status, headers, body }) {
    if (response.headersSent) return;
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(body);
  },
  status: () => (response.writableFinished ? response.statusCode : undefined),
  onClose: (callback) => void response.once('close', callback),
});
