// The entries for frameworks, with the types of the frameworks.

import { pipeline, policy } from '@sluice/core';
import { guard as forExpress, admissionOf, type Admitted, type GuardOptions } from '@sluice/core/express';
import { guard as forFastify } from '@sluice/core/fastify';
import { guard as forFetch, type Handler } from '@sluice/core/fetch';
import { guard as forHono } from '@sluice/core/hono';
import { guard as forKoa } from '@sluice/core/koa';
import { instrument, type TelemetryOptions } from '@sluice/core/opentelemetry';
import { parse } from '@sluice/core/yaml';
import express, { type Request as ExpressRequest } from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';

const calls = pipeline([{ limit: { rate: '100/1m', per: 'key' } }]);
const options: GuardOptions<ExpressRequest> = {
  key: (request) => request.get('x-user'),
  cost: (request) => request.query.all ? 10 : 1,
  skip: (request) => request.path === '/health',
  ip: (request) => request.ip ?? '',
  rateLimitHeaders: true,
  legacyHeaders: true,
  outcome: (status, byStatus) => (status === 404 ? 'ok' : byStatus),
};
express()
  .use(forExpress(calls, options))
  .get('/', forExpress(calls), (request, response) => {
    const admitted: Admitted | undefined = admissionOf(request);
    response.json(admitted?.quotas);
  });

const app = fastify();
app.addHook('onRequest', forFastify(calls, { key: (request) => request.ip }));
app.get('/', { onRequest: forFastify(calls) }, async () => 'ok');

new Koa().use(forKoa(calls)).use(forKoa<Koa.Context>(calls, { key: (context) => context.ip }));

new Hono().use(forHono(calls, { key: (context) => context.req.header('x-user') })).get('/', (c) => c.text('ok'));

const handler: Handler<[env: { secret: string }]> = (request, env) => new Response(request.url + env.secret);
export const worker = { fetch: forFetch(calls, handler, { key: (request) => request.headers.get('x-user') ?? '' }) };
export const answer: Promise<Response> = worker.fetch(new Request('https://example.com/'), { secret: '' });

const telemetry: TelemetryOptions = { policy: 'vendor', spanEvents: true };
export const stop: () => void = instrument(calls, telemetry);
export const vendor = policy(parse('steps: []'));
