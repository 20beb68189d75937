import { describe, expect, test } from 'vitest';
import { pipeline, RejectedError, resilientFetch } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

interface Seen {
  url: string;
  method: string;
  body: unknown;
  signal: AbortSignal;
}

/** A fetch that answers from a list, and what it saw. */
function answers(...list: (Response | Error | (() => Promise<Response>))[]) {
  const seen: Seen[] = [];
  const fetch = (async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = input instanceof Request ? input : undefined;
    seen.push({
      url: request?.url ?? String(input),
      method: init?.method ?? request?.method ?? 'GET',
      body: init?.body,
      signal: init?.signal as AbortSignal,
    });
    const answer = list.length > 1 ? list.shift() : list[0];
    if (answer instanceof Error) throw answer;
    return typeof answer === 'function' ? answer() : (answer as Response);
  }) as typeof globalThis.fetch;
  return { fetch, seen };
}

const status = (code: number, headers: Record<string, string> = {}) =>
  new Response(`${code}`, { status: code, headers });
const retries = { retry: { attempts: 3, backoff: 'none' } } as const;
const url = 'https://example.com/a?t=1';

test('failures are sent again, and the last answer is an answer', async () => {
  const clock = virtualClock();
  const bodies = [status(500), status(503), status(502)];
  const { fetch, seen } = answers(...bodies);
  const answer = await resilientFetch({ steps: [retries] }, { fetch, clock })(url);
  expect(answer.status).toBe(502);
  expect(seen).toHaveLength(3);
  expect(await answer.text()).toBe('502');
  await expect(bodies[0]?.text()).rejects.toThrow();
});

test('errors of the network are failures, mistakes are not', async () => {
  const clock = virtualClock();
  const refused = new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });
  const broken = answers(
    refused,
    new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }),
    status(200),
  );
  expect((await resilientFetch([retries], { fetch: broken.fetch, clock })(url)).status).toBe(200);
  const mistake = answers(new TypeError('Failed to parse URL', { cause: { code: 'ERR_INVALID_URL' } }));
  await expect(resilientFetch([retries], { fetch: mistake.fetch, clock })('::')).rejects.toThrow('parse');
  expect(mistake.seen).toHaveLength(1);
  const own = answers(refused);
  const outcomes = { fail: ['reset'] } as const;
  await expect(
    resilientFetch({ steps: [retries], outcomes }, { fetch: own.fetch, clock })(url),
  ).rejects.toThrow();
  expect(own.seen).toHaveLength(1);
});

test.each(['CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])(
  '%s is not retried and does not vote',
  async (code) => {
    const { fetch, seen } = answers(new TypeError('fetch failed', { cause: { code } }));
    const calls = pipeline([{ breaker: { window: { consecutive: 1 } } }, retries], { clock: virtualClock() });
    for (let times = 1; times < 3; times++) {
      await expect(resilientFetch(calls, { fetch })(url)).rejects.toThrow('fetch failed');
      expect(seen).toHaveLength(times);
    }
  },
);

test.each([
  [429, {}, 3],
  [404, {}, 1],
  [501, {}, 1],
  [505, {}, 1],
  [511, {}, 1],
  [501, { fail: [501] }, 3],
  [501, { ignore: ['4xx'] }, 3],
  [501, { fail: ['5xx'], ignore: [501, '4xx'] }, 1],
  [404, { fail: [404, '5xx'] }, 3],
  [200, {}, 1],
  [500, { fail: [] }, 1],
] as const)('status %i with outcomes %j is sent %i times', async (code, outcomes, times) => {
  const { fetch, seen } = answers(() => Promise.resolve(status(code)));
  await resilientFetch({ steps: [retries], outcomes }, { fetch, clock: virtualClock() })(url);
  expect(seen).toHaveLength(times);
});

test('Retry-After is a floor, as seconds and as a date', async () => {
  const clock = virtualClock();
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
  const { fetch } = answers(
    status(503, { 'retry-after': '7' }),
    status(429, { 'retry-after': 'Wed, 21 Oct 2026 07:28:09 GMT', date }),
    status(200),
  );
  let done = 0;
  void resilientFetch([retries], { fetch, clock })(url).then(() => (done = clock.now()));
  await clock.advance(20_000);
  expect(done).toBe(16_000);
});

test.each([
  ['POST', 'x', undefined, 1],
  ['PUT', 'x', undefined, 3],
  ['POST', 'x', ['POST'], 3],
  ['GET', undefined, 'POST', 1],
  ['PUT', 'x'.repeat(65_537), undefined, 1],
  ['PUT', new Blob(['x']).stream(), undefined, 1],
  ['PUT', new URLSearchParams({ a: 'b' }), undefined, 3],
  ['PUT', new Uint8Array(70_000), undefined, 1],
] as const)('%s of %s with methods %s', async (method, body, methods, times) => {
  const { fetch, seen } = answers(() => Promise.resolve(status(500)));
  const retry = { attempts: 3, backoff: 'none', ...(methods && { methods }) } as const;
  const init = { method, ...(body && { body }) } as RequestInit;
  expect((await resilientFetch([{ retry }], { fetch, clock: virtualClock() })(url, init)).status).toBe(500);
  expect(seen).toHaveLength(times);
});

test('a fallback answers refusals, cuts and failures', async () => {
  const clock = virtualClock();
  const { fetch } = answers(status(500));
  const get = resilientFetch(
    { steps: [{ limit: '1/1h' }], fallback: { status: 503, body: 'try later' } },
    { fetch, clock },
  );
  for (let i = 0; i < 2; i++) {
    const answer = await get(url);
    expect([answer.status, await answer.text()]).toEqual([503, 'try later']);
  }
  await expect(
    resilientFetch(pipeline([{ limit: '1/1h' }], { clock }), { fetch })(url, {}).then(() => 'once'),
  ).resolves.toBe('once');
});

test('without one a refusal rejects', async () => {
  const get = resilientFetch([{ limit: '1/1h' }], {
    fetch: answers(status(200)).fetch,
    clock: virtualClock(),
  });
  await get(url);
  await expect(get(url)).rejects.toBeInstanceOf(RejectedError);
});

test('a timeout aborts the request, the caller too', async () => {
  const clock = virtualClock();
  const hanging = answers(() => new Promise(() => {}));
  const get = resilientFetch([{ timeout: '1s' }], { fetch: hanging.fetch, clock });
  const cut = get(url).catch((e: Error) => e.name);
  await clock.advance(1000);
  expect(await cut).toBe('TimeoutError');
  expect(hanging.seen[0]?.signal.aborted).toBe(true);
  const controller = new AbortController();
  const gone = get(url, { signal: controller.signal });
  controller.abort('enough');
  await expect(gone).rejects.toBe('enough');
  expect(hanging.seen[1]?.signal.aborted).toBe(true);
});

test('a caller can abort the body of an answer', async () => {
  const { fetch, seen } = answers(status(200));
  const controller = new AbortController();
  await resilientFetch([{ timeout: '1s' }], { fetch, clock: virtualClock() })(url, {
    signal: controller.signal,
  });
  controller.abort();
  expect(seen[0]?.signal.aborted).toBe(true);
});

describe('cells per attribute of the request', () => {
  test.each([
    ['host', 'https://a.com/', 'https://b.com/'],
    ['path', 'https://a.com/x', 'https://a.com/y'],
    ['query:t', 'https://a.com/?t=1', 'https://a.com/?t=2'],
  ] as const)('%s', async (per, one, other) => {
    const { fetch } = answers(() => Promise.resolve(status(200)));
    const get = resilientFetch([{ limit: { rate: '1/1h', per } }], { fetch, clock: virtualClock() });
    expect([(await get(one)).ok, (await get(other)).ok]).toEqual([true, true]);
    await expect(get(new URL(one))).rejects.toThrow('rate');
  });

  test.each([
    ['header:x-tenant', { headers: { 'X-Tenant': 'a' } }, { headers: { 'X-Tenant': 'b' } }],
    ['cookie:id', { headers: { cookie: 'x=1; id=a' } }, { headers: { cookie: 'x=1; id=b' } }],
    ['method', { method: 'GET' }, { method: 'HEAD' }],
  ] as const)('%s', async (per, one, other) => {
    const { fetch } = answers(() => Promise.resolve(status(200)));
    const get = resilientFetch([{ limit: { rate: '1/1h', per } }], { fetch, clock: virtualClock() });
    expect([(await get(url, one)).ok, (await get(url, other)).ok]).toEqual([true, true]);
    await expect(get(url, one)).rejects.toThrow('rate');
  });

  test('key', async () => {
    const { fetch } = answers(() => Promise.resolve(status(200)));
    const get = resilientFetch([{ limit: { rate: '1/1h', per: 'key' } }], {
      fetch,
      clock: virtualClock(),
      key: (input) => String(input),
    });
    expect([(await get('https://a.com/')).ok, (await get('https://b.com/')).ok]).toEqual([true, true]);
    await expect(get('https://a.com/')).rejects.toThrow('rate');
  });
});

test('a Request is sent as it is', async () => {
  const { fetch, seen } = answers(() => Promise.resolve(status(500)));
  const get = resilientFetch([retries], { fetch, clock: virtualClock() });
  await get(new Request(url, { method: 'DELETE' }));
  expect(seen.map(({ method }) => method)).toEqual(['DELETE', 'DELETE', 'DELETE']);
  await get(new Request(url, { method: 'PUT', body: 'x' }));
  expect(seen).toHaveLength(4);
});
