// Uses the entries for frameworks; the caller imports or requires them.

const STEPS = [{ limit: { rate: '1/1h' } }];

/** Answers two requests: the second one is refused. */
async function twice(send) {
  const report = [];
  for (let i = 0; i < 2; i++) {
    const { status, headers } = await send();
    report.push(status, headers.get('ratelimit'));
  }
  return report;
}

async function listening(server, work) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await work(`http://127.0.0.1:${server.address().port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

export async function frameworks({ core, express, fastify, koa, hono, fetch: handlers, opentelemetry, yaml }, installed) {
  const calls = () => core.pipeline(STEPS);
  const report = {};
  const web = installed.express();
  web.use(express.guard(calls()), (_, response) => response.end('ok'));
  report.express = await listening(installed.createServer(web), (url) => twice(() => fetch(url)));
  const app = installed.fastify();
  app.addHook('onRequest', fastify.guard(calls()));
  app.get('/', async () => 'ok');
  report.fastify = await twice(async () => {
    const { statusCode: status, headers } = await app.inject('/');
    return { status, headers: new Headers(headers) };
  });
  const server = new installed.Koa();
  server.use(koa.guard(calls())).use((context) => {
    context.body = 'ok';
  });
  report.koa = await listening(installed.createServer(server.callback()), (url) => twice(() => fetch(url)));
  const edge = new installed.Hono().use(hono.guard(calls()));
  edge.get('/', (context) => context.text('ok'));
  report.hono = await twice(() => edge.fetch(new Request('http://example.com/')));
  const handler = handlers.guard(calls(), () => new Response('ok'));
  report.fetch = await twice(() => handler(new Request('http://example.com/')));
  const events = [];
  const meter = {
    createCounter: () => ({ add: (_, attributes) => events.push(attributes['sluice.decision']) }),
    createHistogram: () => ({ record() {} }),
    createObservableGauge: () => ({ addCallback() {}, removeCallback() {} }),
  };
  const told = calls();
  opentelemetry.instrument(told, { meterProvider: { getMeter: () => meter } });
  await told.execute(() => 1);
  report.opentelemetry = events;
  report.yaml = core.policy(yaml.parse('steps: [{ limit: 1/1h }]')).policy;
  return report;
}
