// The adapters, with the real frameworks: equal requests get equal answers from each.

import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { afterEach, describe, expect, test } from 'vitest';
import { type Pipeline, type Policy, pipeline, policy, type Step } from '../src/index.js';
import type { GuardOptions } from '../src/servers/admission.js';
import { ipOf } from '../src/servers/attributes.js';
import * as forExpress from '../src/servers/express.js';
import * as forFastify from '../src/servers/fastify.js';
import * as forFetch from '../src/servers/fetch-handler.js';
import * as forHono from '../src/servers/hono.js';
import * as forKoa from '../src/servers/koa.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

/** What the handler of an application does: the path says it. */
interface Work {
  /** Resolves when a request for `/hang` has arrived. */
  readonly arrived: Promise<void>;
  /** Ends all requests for `/hang`. */
  readonly release: () => void;
  /** Returns a status and a text. */
  readonly run: (path: string, admitted: forFetch.Admitted | undefined) => Promise<[number, string]>;
}

function work(): Work {
  let come = (): void => {};
  let release = (): void => {};
  const arrived = new Promise<void>((resolve) => {
    come = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    arrived,
    release: () => release(),
    async run(path, admitted) {
      if (path.startsWith('/status/')) return [Number(path.slice(8)), ''];
      if (path === '/throw') throw new Error('thrown');
      if (path === '/quota') return [200, JSON.stringify(admitted?.quotas.map(({ remaining }) => remaining))];
      if (path === '/hang') {
        come();
        await released;
      }
      return [200, 'ok'];
    },
  };
}

type Send = (path: string, init?: RequestInit) => Promise<Response>;
// biome-ignore lint/suspicious/noExplicitAny: the request of any framework
type Options = GuardOptions<any>;
type Start = (calls: Pipeline, does: Work, options?: Options) => Promise<Send>;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

let port = 0;

/** The status of the answer to a request of these bytes. */
const statusOf = (text: string): Promise<number> =>
  new Promise((resolve, reject) => {
    let answer = '';
    connect(port, '127.0.0.1')
      .on('error', reject)
      .on('data', (part) => {
        answer += part;
      })
      .on('close', () => resolve(Number(answer.split(' ')[1])))
      .end(text);
  });

async function listen(listener: RequestListener): Promise<Send> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  ({ port } = server.address() as AddressInfo);
  const at = port;
  return (path, init) => fetch(`http://127.0.0.1:${at}${path}`, init);
}

const starts: { [framework: string]: Start } = {
  express: (calls, does, options) => {
    const app = express();
    app.use(forExpress.guard(calls, options));
    app.use((request, response, next) => {
      does.run(request.path, forExpress.admissionOf(request)).then(([status, text]) => {
        if (!response.headersSent) response.status(status).end(text);
      }, next);
    });
    app.use(((_error, _request, response, _next) => {
      response.status(500).end();
    }) satisfies express.ErrorRequestHandler);
    return listen(app);
  },
  fastify: async (calls, does, options) => {
    const app = fastify();
    app.addHook('onRequest', forFastify.guard(calls, options));
    app.all('/*', async (request, reply) => {
      const path = request.url.replace(/\?.*/, '');
      const [status, text] = await does.run(path, forFastify.admissionOf(request));
      if (!reply.sent) reply.code(status).send(text);
      return reply;
    });
    await app.ready();
    return listen((request, response) => app.routing(request, response));
  },
  koa: (calls, does, options) => {
    const app = new Koa();
    app.silent = true;
    app.use(forKoa.guard(calls, options));
    app.use(async (context) => {
      const [status, text] = await does.run(context.path, forKoa.admissionOf(context));
      context.status = status;
      context.body = text;
    });
    return listen(app.callback());
  },
  hono: async (calls, does, options) => {
    const app = new Hono();
    app.use(forHono.guard(calls, options));
    app.onError(() => new Response('', { status: 500 }));
    app.all('*', async (context) => {
      const [status, text] = await does.run(context.req.path, forHono.admissionOf(context.req.raw));
      return new Response(text, { status });
    });
    return async (path, init) => app.fetch(new Request(`http://example.com${path}`, init));
  },
  fetch: async (calls, does, options) => {
    const handler = forFetch.guard(
      calls,
      async (request) => {
        const [status, text] = await does.run(new URL(request.url).pathname, forFetch.admissionOf(request));
        return new Response(text, { status });
      },
      options,
    );
    return (path, init) =>
      handler(new Request(`http://example.com${path}`, init)).catch(() => new Response('', { status: 500 }));
  },
};

const LIMITS = [{ limit: { rate: '2/1m' } }] as const;
const OPEN = { breaker: { window: { consecutive: 1 }, open: '10s', probes: 1 } } as const;

describe.each(Object.entries(starts))('%s', (name, start) => {
  const clock = virtualClock();
  const begin = async (steps: readonly Step[] | Policy, options?: Options) => {
    const does = work();
    const calls = pipeline(steps as readonly Step[], { clock });
    const app = await start(calls, does, options);
    return { app, calls, does };
  };
  const fields = ({ headers }: Response, ...names: string[]): (string | null)[] =>
    names.map((field) => headers.get(field));
  const limits = (answer: Response): (string | null)[] => fields(answer, 'ratelimit-policy', 'ratelimit');

  test('an admitted request has the headers of its limits', async () => {
    const { app } = await begin(LIMITS);
    const answer = await app('/ok');
    expect([answer.status, await answer.text()]).toEqual([200, 'ok']);
    expect(limits(answer)).toEqual(['"limit";q=2;w=60', '"limit";r=1;t=30']);
    expect(fields(answer, 'retry-after', 'x-ratelimit-limit')).toEqual([null, null]);
  });

  test('a limit refuses with 429, and says why and when', async () => {
    const { app } = await begin(LIMITS);
    for (let i = 0; i < 2; i++) await app('/ok');
    const answer = await app('/ok');
    expect(answer.status).toBe(429);
    expect(limits(answer)).toEqual(['"limit";q=2;w=60', '"limit";r=0;t=30']);
    expect(fields(answer, 'retry-after', 'content-type', 'cache-control', 'x-throttle-reason')).toEqual([
      '30',
      'application/problem+json',
      'no-store',
      'rate',
    ]);
    expect(await answer.text()).toBe(
      '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",' +
        '"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,' +
        '"detail":"Too many requests for now.","violated-policies":["limit"],"reason":"rate","step":"limit"}\n',
    );
  });

  test('a bulkhead refuses with 503 while a handler runs', async () => {
    const { app, does, calls } = await begin([{ bulkhead: 1 }]);
    const first = app('/hang');
    await does.arrived;
    const answer = await app('/ok');
    expect([answer.status, ...fields(answer, 'retry-after', 'x-throttle-reason', 'ratelimit')]).toEqual([
      503,
      '1',
      'full',
      null,
    ]);
    expect(await answer.json()).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      status: 503,
      detail: 'The queue is full.',
      step: 'bulkhead',
    });
    does.release();
    expect((await first).status).toBe(200);
    await calls.drain();
    expect((await app('/ok')).status).toBe(200);
  });

  test.each(['/status/500', '/throw'])('%s opens the breaker, which refuses with 503', async (path) => {
    const { app, calls } = await begin([OPEN]);
    expect((await app(path)).status).toBe(500);
    await calls.drain();
    const answer = await app('/ok');
    expect([answer.status, ...fields(answer, 'retry-after', 'x-throttle-reason')]).toEqual([
      503,
      '10',
      'open',
    ]);
  });

  test('the status of an answer is its outcome, unless an option says otherwise', async () => {
    const ok = await begin([OPEN]);
    await ok.app('/status/404');
    await ok.calls.drain();
    expect(ok.calls.step('breaker').state()).toBe('closed');
    const strict = await begin([OPEN], { outcome: (status, by) => (status === 404 ? 'fail' : by) });
    await strict.app('/status/404');
    await strict.calls.drain();
    expect(strict.calls.step('breaker').state()).toBe('open');
  });

  test('a timeout answers 503, once', async () => {
    const { app, does, calls } = await begin([{ timeout: '1s' }]);
    const sent = app('/hang');
    await does.arrived;
    await clock.advance(1000);
    const answer = await sent;
    expect([answer.status, ...fields(answer, 'x-throttle-reason', 'retry-after')]).toEqual([
      503,
      'timeout',
      null,
    ]);
    expect(await answer.json()).toEqual({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      detail: 'The request took longer than it may.',
      reason: 'timeout',
      step: 'timeout',
    });
    does.release();
    expect(calls.running).toBe(0);
    expect((await app('/ok')).status).toBe(200);
  });

  test.each<[object, number, string, string | null]>([
    [{ fail: '100%' }, 503, 'Service Unavailable', null],
    [{ throttle: { rate: '100%', retry_after: '1500ms' } }, 429, 'Too Many Requests', '2'],
    [{ ignore: '100%' }, 400, 'Bad Request', null],
  ])('what a chaos step injects is an answer that says so: %j', async (chaos, status, title, after) => {
    const { app, calls } = await begin([...LIMITS, { chaos } as Step]);
    const answer = await app('/ok');
    expect([answer.status, ...fields(answer, 'x-throttle-reason', 'retry-after')]).toEqual([
      status,
      'injected',
      after,
    ]);
    expect(await answer.json()).toEqual({
      type: 'about:blank',
      title,
      status,
      detail: 'A chaos step of the policy gives this answer in place of the service.',
      reason: 'injected',
      step: 'chaos',
    });
    expect(limits(answer)).toEqual(['"limit";q=2;w=60', '"limit";r=1;t=30']);
    const covered = await start(policy({ steps: [{ chaos } as Step], fallback: { status: 418 } }), work());
    expect([(await covered('/ok')).status, calls.running]).toEqual([status === 400 ? 400 : 418, 0]);
  });

  test("the policy's fallback takes the place of the document", async () => {
    const does = work();
    const document = {
      steps: [{ limit: '1/1m' }],
      fallback: { status: 418, body: '{"later":true}' },
    } as const;
    const app = await start(policy(document, { clock }), does);
    await app('/ok');
    const answer = await app('/ok');
    expect([answer.status, await answer.text(), ...fields(answer, 'content-type', 'retry-after')]).toEqual([
      418,
      '{"later":true}',
      'application/json',
      '60',
    ]);
  });

  test('a refusal of a cost above what is free says what is free', async () => {
    const clock = virtualClock();
    const steps: Step[] = [
      { limit: { rate: '3/1m' } },
      { limit: { rate: '3/1m', cost: 2 } },
      { limit: { rate: '3/1m', wait: '1ms', queue: 1 } },
      { limit: { rate: '3/1m', per: 'key' } },
      { limit: { rate: '3/1m', algorithm: 'fixed-window' } },
      { limit: { rate: '3/1m', algorithm: 'sliding-log' } },
      { limit: { rate: '3/1m', algorithm: 'sliding-counter' } },
    ];
    for (const step of steps) {
      const send = await start(pipeline([step], { clock }), work(), { key: () => 'a', cost: () => 2 });
      for (const status of [200, 429]) {
        const answer = await send('/');
        expect([answer.status, answer.headers.get('RateLimit')?.split(';')[1]]).toEqual([status, 'r=1']);
      }
    }
  });

  test('keys, costs and requests that pass untouched', async () => {
    const header = (request: { headers?: unknown; req?: unknown }, field: string): string | undefined => {
      const { headers } = (request.headers ? request : request.req) as { headers?: Headers };
      if (headers instanceof Headers) return headers.get(field) ?? undefined;
      if (headers) return (headers as unknown as { [name: string]: string })[field];
      return (request.req as { header(name: string): string | undefined }).header(field);
    };
    const { app } = await begin([{ limit: { rate: '4/1m', per: 'key' } }], {
      key: (request: object) => header(request, 'x-user'),
      cost: (request: object) => Number(header(request, 'x-cost') ?? 1),
      skip: (request: object) => header(request, 'x-skip') !== undefined,
    });
    const left = async (headers: { [name: string]: string }): Promise<string | null> =>
      (await app('/ok', { headers })).headers.get('ratelimit');
    expect(await left({ 'x-user': 'a', 'x-cost': '3' })).toBe('"limit";r=1;t=45');
    expect(await left({ 'x-user': 'b' })).toBe('"limit";r=3;t=15');
    expect(await left({ 'x-user': 'a', 'x-skip': '1' })).toBe(null);
    const quota = await app('/quota', { headers: { 'x-user': 'a' } });
    expect(await quota.text()).toBe('[0]');
  });

  test.skipIf(['hono', 'fetch'].includes(name))(
    'targets and hosts that are no path and no host',
    async () => {
      const { calls } = await begin([{ limit: { rate: '1000/1m', per: 'path' } }], { skip: () => true });
      const lines = [
        'x:http://u/admin',
        'http:admin',
        'x:%2fadmin',
        'file:///etc/passwd',
        'http://u:p@x/a',
        'http:///a',
        '*',
        'admin',
      ];
      for (const line of lines) {
        expect([
          line,
          await statusOf(`GET ${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
        ]).toEqual([line, 400]);
      }
      for (const host of ['x";for="y', 'a b', 'u@x', '%61', '[::1', 'a:b']) {
        expect([
          host,
          await statusOf(`GET /ok HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
        ]).toEqual([host, 400]);
      }
      for (const line of ['/ok', '/ok?a=b', 'http://y/ok', '/status/200?http://x']) {
        expect(await statusOf(`GET ${line} HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n`)).toBe(
          200,
        );
      }
      expect(calls.step('limit').keys()).toEqual([]);
    },
  );

  test('one credential is one key', async () => {
    const { app } = await begin([{ limit: { rate: '1/1h', per: 'header:authorization', missing: 'deny' } }]);
    const ask = async (authorization: string): Promise<number> =>
      (await app('/ok', { headers: { authorization } })).status;
    expect(await ask('Bearer t')).toBe(200);
    for (const text of ['bearer t', 'BEARER   t', `Bearer${' '.repeat(20)}t`, 'Bearer\tt'])
      expect(await ask(text)).toBe(429);
    for (const text of ['Bearer T', 'KEY', 'key', 'É t', 'é t']) expect(await ask(text)).toBe(200);
    if (['hono', 'fetch'].includes(name)) return; // fetch has no Connection
    const text =
      'GET /ok HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer u\r\nConnection: close, AUTHORIZATION\r\n\r\n';
    expect(await statusOf(text)).toBe(400);
  });

  test.each([
    ['deny', 400, 'Bad Request'],
    ['deny-401', 401, 'Unauthorized'],
    ['deny-403', 403, 'Forbidden'],
  ] as const)('a request without its key: %s', async (missing, status, title) => {
    const steps: Step[] = [
      { limit: { rate: '1/1h' } },
      { limit: { rate: '9/1m', per: 'header:x-key', missing } },
    ];
    const answer = await (await begin({ fallback: { status: 200, body: 'x' }, steps })).app('/ok');
    expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
      status,
      null,
      {
        type: 'about:blank',
        title,
        status,
        detail: 'The request lacks what it is counted by.',
        reason: 'missing',
        step: 'limit-2',
      },
    ]);
  });

  test('attributes', async () => {
    const per = ['method', 'host', 'path', 'query:t', 'cookie:s', 'header:x-tenant'] as const;
    const { app, calls } = await begin([{ limit: { rate: '9/1m', per } }]);
    const headers = { 'x-tenant': 'blue', cookie: 'a=b; s=t' };
    expect((await app('/a/../ok?t=1&u=2', { headers })).status).toBe(200);
    const host = ['hono', 'fetch'].includes(name) ? '11:example.com' : '9:127.0.0.1';
    expect(calls.step('limit').keys()).toEqual([`3:GET${host}3:/ok1:11:t4:blue`]);
    const twice = await app('/ok?t=1&t=2', { headers });
    expect([twice.status, await twice.json()]).toEqual([
      400,
      {
        type: 'about:blank',
        title: 'Bad Request',
        status: 400,
        detail: 'The request has more than one query t.',
        reason: 'key',
      },
    ]);
    expect((await app('/ok', { headers: { cookie: 's=1; s=2' } })).status).toBe(400);
  });

  test('the address of the client', async () => {
    if (['hono', 'fetch'].includes(name)) {
      const asks: (readonly Step[] | Policy)[] = [
        [{ limit: { rate: '9/1m', per: ['key', 'ip'] } }],
        [{ limit: { rate: '9/1m', when: { not: { ip: '10.0.0.0/8' } } } }],
        { steps: [{ limit: '9/1m' }], deny: { ip: '10.0.0.0/8' } },
      ];
      for (const policy of asks)
        await expect(begin(policy)).rejects.toThrow(/^guard: .*no option ip; allowed/);
      await expect(begin([{ limit: '9/1m' }], { ip: 'x' as never })).rejects.toThrow(
        /guard: ip: found "x"; allowed a function/,
      );
      const later = await begin([{ limit: '9/1m' }]);
      later.calls.configure([{ limit: { rate: '9/1m', per: 'ip' } }]);
      expect((await later.app('/ok')).status).toBe(500);
    } else {
      const own = await begin([{ limit: { rate: '9/1m', per: 'ip' } }]);
      await own.app('/ok');
      expect(own.calls.step('limit').keys()).toEqual(['127.0.0.1']);
    }
    const told = await begin([{ limit: { rate: '9/1m', per: 'ip' } }], { ip: () => '2001:db8:1:2:3::1' });
    await told.app('/ok');
    expect(told.calls.step('limit').keys()).toEqual(['2001:db8:1:2::/64']);
  });

  test('headers that are wanted', async () => {
    const legacy = await begin(
      [{ limit: { name: 'all', rate: '90/1.5s' } }, { limit: { name: 'each', rate: '2/1m', burst: 5 } }],
      { legacyHeaders: true },
    );
    const answer = await legacy.app('/ok');
    expect(limits(answer)).toEqual(['"all";q=180;w=3, "each";q=2;w=60', '"all";r=89;t=1, "each";r=4;t=30']);
    expect(fields(answer, 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset')).toEqual([
      '5',
      '4',
      '30',
    ]);
    const none = await begin(LIMITS, { rateLimitHeaders: false });
    expect(limits(await none.app('/ok'))).toEqual([null, null]);
    await none.app('/ok');
    const refused = await none.app('/ok');
    expect([refused.status, ...limits(refused), refused.headers.get('retry-after')]).toEqual([
      429,
      null,
      null,
      '30',
    ]);
  });

  test('a client that leaves the queue frees its place', async () => {
    const { app, does, calls } = await begin([{ bulkhead: { concurrent: 1, queue: 1 } }]);
    const first = app('/hang');
    await does.arrived;
    const controller = new AbortController();
    const waits = app('/ok', { signal: controller.signal });
    waits.catch(() => {});
    const places = calls.step('bulkhead');
    while (places.counts().queued === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    while (places.counts().queued === 1) await new Promise((resolve) => setImmediate(resolve));
    does.release();
    expect((await first).status).toBe(200);
    await calls.drain();
    expect(places.counts()).toEqual({ running: 0, queued: 0, free: 1 });
  });

  test('the next policy is followed', async () => {
    const { app, calls } = await begin(LIMITS);
    await app('/ok');
    calls.configure({ steps: [{ limit: '5/1m' }], outcomes: { fail: [418] } });
    expect(limits(await app('/ok'))[0]).toBe('"limit";q=5;w=60');
  });

  test('anything but a pipeline is an error at once', async () => {
    await expect(async () => start({} as never, work())).rejects.toThrow('guard: found no pipeline');
  });
});

// The scripts of TestRefusalAsAnAnswer and TestRateLimitHeaders of bindings/nethttp.
describe('as in nethttp', () => {
  const QUOTA = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
  const CAPACITY = 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity';

  test.each<[string, Step, number, string, string | null, string]>([
    ['rate', { limit: { rate: '2/1m', burst: 1 } }, 429, QUOTA, '30', 'Too many requests for now.'],
    [
      'wait',
      { limit: { rate: '2/1m', burst: 1, wait: '1s' } },
      429,
      QUOTA,
      '29',
      'The wait would take, or took, too long.',
    ],
    [
      'capacity',
      { limit: { rate: '1/1m', burst: 1, name: 'broad' } },
      429,
      QUOTA,
      null,
      'The request costs more than can ever be admitted.',
    ],
    [
      'open',
      { breaker: { window: { consecutive: 1 }, open: '1500ms' } },
      503,
      CAPACITY,
      '2',
      'The service is failing and is given time to recover.',
    ],
    ['full', { bulkhead: 1 }, 503, CAPACITY, '1', 'The queue is full.'],
  ])('%s', async (reason, step, status, type, after, detail) => {
    let cost = 1;
    const calls = pipeline([step], { clock: virtualClock() });
    const answer = reason === 'open' ? 500 : 200;
    const handler = forFetch.guard(
      calls,
      (request) =>
        request.url.endsWith('hang') ? new Promise(() => {}) : new Response('', { status: answer }),
      { cost: () => cost },
    );
    const first = handler(new Request(`http://example.com/${reason === 'full' ? 'hang' : ''}`));
    if (reason !== 'full') await first;
    if (reason === 'capacity') cost = 2;
    const refused = await handler(new Request('http://example.com/'));
    expect([
      refused.status,
      refused.headers.get('retry-after'),
      refused.headers.get('x-throttle-reason'),
    ]).toEqual([status, after, reason]);
    const body = (await refused.json()) as { step: string };
    expect(body).toMatchObject({ type, status, reason, detail, 'violated-policies': [body.step] });
  });

  test('headers', async () => {
    const steps: Step[] = [
      { limit: { name: 'burst', rate: '50/1m', burst: 2 } },
      { limit: { name: 'daily', rate: '1000/1d', algorithm: 'fixed-window' } },
      { limit: { name: 'fast', rate: '3/1500ms' } },
      { limit: { name: 'watched', rate: '1/1h', shadow: true } },
    ];
    const calls = pipeline(steps, { clock: virtualClock() });
    const handler = forFetch.guard(calls, () => new Response('ok'), { legacyHeaders: true });
    const got: (string | null)[] = [];
    for (let i = 0; i < 3; i++) {
      const { headers } = await handler(new Request('http://example.com/'));
      expect(headers.get('ratelimit-policy')).toBe(
        '"burst";q=50;w=60, "daily";q=1000;w=86400, "fast";q=6;w=3',
      );
      const legacy = ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));
      got.push(headers.get('ratelimit'), legacy.join(' '), headers.get('retry-after'));
    }
    expect(got).toEqual([
      '"burst";r=1;t=2, "daily";r=999;t=86400, "fast";r=2;t=1',
      '2 1 2',
      null,
      '"burst";r=0;t=2, "daily";r=998;t=86400, "fast";r=1;t=1',
      '2 0 2',
      null,
      '"burst";r=0;t=2, "daily";r=998;t=86400, "fast";r=1;t=1',
      '2 0 2',
      '2',
    ]);
  });
});

test('two guards: both say what is left', async () => {
  const clock = virtualClock();
  const two = [
    pipeline([...LIMITS], { clock }),
    pipeline([{ limit: { name: 'more', rate: '9/1m' } }], { clock }),
  ] as const;
  const expected = '"limit";r=1;t=30, "more";r=8;t=7';
  const sorted = (answer: Response): string | undefined =>
    answer.headers.get('ratelimit')?.split(', ').sort().join(', ');
  const web = express();
  web.use(forExpress.guard(two[0]), forExpress.guard(two[1]), (_, response) => {
    response.end();
  });
  expect(sorted(await (await listen(web))('/'))).toBe(expected);
  for (const calls of two) calls.step(calls.quotas()[0]?.step as string).reset();
  const handler = forFetch.guard(
    two[0],
    forFetch.guard(two[1], () => Response.redirect('http://example.com/')),
  );
  expect(sorted(await handler(new Request('http://example.com/')))).toBe(expected);
  for (const calls of two) calls.step(calls.quotas()[0]?.step as string).reset();
  const app = fastify();
  for (const calls of two) app.addHook('onRequest', forFastify.guard(calls));
  app.get('/', async () => 'ok');
  const { headers } = await app.inject('/');
  expect(headers.ratelimit).toBe('"limit";r=1;t=30, "more";r=8;t=7');
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:DB8::1', '2001:db8::1/64'],
  ['2001:db8:0:0:1::', '2001:db8:0:0:1::/64'],
  ['2001:db8:0:5:1:2:3:4', '2001:db8:0:5:1:2:3:4/64'],
  ['::1', '::1/64'],
  ['fe80::1%eth0', 'fe80::1/64'],
  ['[2001:db8::5]:443', '2001:db8::5/64'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['unknown', 'unknown'],
  ['', ''],
])('the value of ip of %s', (ip, value) => {
  expect(ipOf(ip)).toBe(value);
});

test('a handler knows the address from what its runtime passes', async () => {
  const calls = pipeline([{ limit: { rate: '1/1m', per: 'ip' } }]);
  const handler = forFetch.guard(
    calls,
    async (_: Request, info: { address: string }) => new Response(info.address),
    {
      ip: (_, { address }) => address,
    },
  );
  const statuses = [];
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.1']) {
    statuses.push((await handler(new Request('http://example.com/'), { address })).status);
  }
  expect(statuses).toEqual([200, 200, 429]);
});
