// Bodies of answers: until when timeouts cut them, and places are held for them.

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from 'vitest';
import { type PolicyError, pipeline, RejectedError, resilientFetch, TimeoutError } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

const url = 'https://example.com/';
const encoder = new TextEncoder();

/** An answer whose body the test writes. */
class Written {
  parts!: ReadableStreamDefaultController | ReadableByteStreamController;
  cancelled: unknown;
  readonly answer: Response;

  constructor(type?: 'bytes', init?: ResponseInit) {
    const source = {
      type,
      start: (controller: ReadableStreamDefaultController) => {
        this.parts = controller;
      },
      cancel: (reason: unknown) => {
        this.cancelled = reason ?? 'no reason';
      },
    };
    this.answer = new Response(new ReadableStream(source as UnderlyingDefaultSource), init);
  }

  write(text: string): void {
    this.parts.enqueue(encoder.encode(text) as never);
  }
}

/** What the last fetch was called with. */
let signals: AbortSignal[];

/** A fetch that gives these answers. */
function giving(...answers: Response[]) {
  signals = [];
  const fetch = (async (_: unknown, init?: RequestInit) => {
    signals.push(init?.signal as AbortSignal);
    return answers[Math.min(signals.length, answers.length) - 1] as Response;
  }) as typeof globalThis.fetch;
  return { fetch };
}

const short = () => new Response('short');
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** How many places of a bulkhead are free. */
const free = (calls: ReturnType<typeof pipeline>): number => calls.step('bulkhead').counts().free;

describe.each([undefined, 'bytes'] as const)('a body of type %s', (type) => {
  test('holds its place until it ends', async () => {
    const calls = pipeline([{ bulkhead: 1 }], { clock: virtualClock() });
    const first = new Written(type);
    const get = resilientFetch(calls, giving(first.answer, short()));
    const answer = await get(url);
    first.write('a');
    await expect(get(url)).rejects.toThrow('full');
    const text = answer.text();
    await settled();
    expect(free(calls)).toBe(0);
    first.write('b');
    first.parts.close();
    expect(await text).toBe('ab');
    expect(free(calls)).toBe(1);
    expect(await (await get(url)).text()).toBe('short');
  });

  test('fails when a timeout cuts it, and frees its place', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ timeout: '5s' }, { bulkhead: 1 }, { timeout: '1s' }], { clock });
    const stalled = new Written(type);
    const answer = await resilientFetch(calls, giving(stalled.answer))(url);
    stalled.write('a line\n');
    const text = answer.text().catch((error: unknown) => error);
    await clock.advance(999);
    expect(free(calls)).toBe(0);
    await clock.advance(1);
    const error = (await text) as TimeoutError;
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error.step).toBe('timeout-2');
    expect(free(calls)).toBe(1);
    expect(signals[0]?.reason).toBe(error);
    expect(stalled.cancelled).toBe(error);
  });

  test('is cut also where no reader comes', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ bulkhead: 1 }, { timeout: '1s' }], { clock });
    const stalled = new Written(type);
    const answer = await resilientFetch(calls, giving(stalled.answer))(url);
    stalled.write('a line\n');
    await clock.advance(1000);
    expect(free(calls)).toBe(1);
    await expect(answer.text()).rejects.toBeInstanceOf(TimeoutError);
  });

  test('that has come frees its place also where no reader comes', async () => {
    const calls = pipeline([{ bulkhead: 1 }], { clock: virtualClock() });
    const written = new Written(type);
    const answer = await resilientFetch(calls, giving(written.answer))(url);
    written.write('all of it');
    written.parts.close();
    await settled();
    expect(free(calls)).toBe(1);
    expect(answer.bodyUsed).toBe(false);
    expect(await answer.text()).toBe('all of it');
  });

  test('that is cancelled frees its place', async () => {
    const calls = pipeline([{ bulkhead: 1 }], { clock: virtualClock() });
    const written = new Written(type);
    const answer = await resilientFetch(calls, giving(written.answer))(url);
    await answer.body?.cancel('enough');
    expect(free(calls)).toBe(1);
    expect(written.cancelled).toBe('enough');
  });

  test('that breaks off frees its place, after all that came', async () => {
    const calls = pipeline([{ bulkhead: 1 }], { clock: virtualClock() });
    const written = new Written(type);
    const answer = await resilientFetch(calls, giving(written.answer))(url);
    written.write('a');
    await settled();
    written.parts.error(new TypeError('terminated'));
    await settled();
    expect(free(calls)).toBe(1);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    expect((await reader.read()).value).toEqual(encoder.encode('a'));
    await expect(reader.read()).rejects.toThrow('terminated');
  });

  test('fails when its caller aborts, also where fetch does not care', async () => {
    const calls = pipeline([{ bulkhead: 1 }], { clock: virtualClock() });
    const written = new Written(type);
    const controller = new AbortController();
    const answer = await resilientFetch(calls, giving(written.answer))(url, { signal: controller.signal });
    const text = answer.text().catch((error: unknown) => error);
    controller.abort('gone');
    expect(await text).toBe('gone');
    expect(free(calls)).toBe(1);
    expect(written.cancelled).toBe('gone');
  });

  test('goes to all of its clones', async () => {
    const calls = pipeline([{ bulkhead: 1 }], { clock: virtualClock() });
    const written = new Written(type, { headers: { 'x-a': 'b' } });
    const answer = await resilientFetch(calls, giving(written.answer))(url);
    const clone = answer.clone();
    expect(clone).toBeInstanceOf(Response);
    expect([clone.headers.get('x-a'), clone.clone().url]).toEqual(['b', answer.url]);
    const texts = Promise.all([answer.text(), clone.text()]);
    written.write('a');
    await settled();
    expect(free(calls)).toBe(0);
    written.parts.close();
    expect(await texts).toEqual(['a', 'a']);
    expect(free(calls)).toBe(1);
  });

  test('fails after the idle timeout, which a part restarts', async () => {
    const clock = virtualClock();
    const calls = pipeline([{ bulkhead: 1 }], { clock });
    const stalled = new Written(type);
    const answer = await resilientFetch(calls, { ...giving(stalled.answer), idleTimeout: '1s' } as object)(
      url,
    );
    const text = answer.text().catch((error: unknown) => error);
    for (let i = 0; i < 3; i++) {
      await clock.advance(900);
      stalled.write('a');
      await settled();
    }
    await clock.advance(999);
    expect(free(calls)).toBe(0);
    await clock.advance(1);
    expect(await text).toMatchObject({ name: 'TimeoutError', step: 'idle' });
    expect(free(calls)).toBe(1);
  });

  test('is not idle while its reader is', async () => {
    const clock = virtualClock();
    const written = new Written(type);
    const { fetch } = giving(written.answer);
    const answer = await resilientFetch([{ bulkhead: 1 }], { clock, fetch, idleTimeout: '1s' })(url);
    const part = 'x'.repeat(65_536);
    written.write(part);
    await settled();
    await clock.advance(60_000);
    const text = answer.text();
    await settled();
    written.parts.close();
    expect(await text).toBe(part);
  });
});

test('an answer is what fetch gave', async () => {
  const server = await serving((answer) => answer.end('found'));
  server.on('request', (request, answer) => {
    if (request.url === '/moved') answer.writeHead(302, { location: '/' });
  });
  const get = resilientFetch([{ bulkhead: 1 }]);
  const answer = await get(`${addressOf(server)}moved`);
  expect(answer).toBeInstanceOf(Response);
  expect(answer).toMatchObject({
    url: addressOf(server),
    redirected: true,
    type: 'basic',
    status: 200,
    statusText: 'OK',
  });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader({ mode: 'byob' });
  const { value } = await reader.read(new Uint8Array(5));
  expect(new TextDecoder().decode(value)).toBe('found');
  expect((await reader.read(new Uint8Array(5))).done).toBe(true);
  expect((await get(addressOf(server), { method: 'HEAD' })).body).toBe(null);
});

test.each([
  ['null', () => new Response(null, { status: 204 })],
  ['of length 0', () => new Response('', { headers: { 'content-length': '0' } })],
  [
    'of no stream',
    () => ({ status: 200, headers: new Headers(), body: { pipe() {} } }) as unknown as Response,
  ],
  ['of a test without one', () => ({ status: 200, json: () => 1 }) as unknown as Response],
  [
    'that is locked',
    () => {
      const answer = short();
      answer.body?.getReader();
      return answer;
    },
  ],
] as const)('a body that is %s holds nothing', async (_, make) => {
  const calls = pipeline([{ bulkhead: 1 }, { timeout: '1s' }], { clock: virtualClock() });
  const given = make();
  expect(await resilientFetch(calls, giving(given))(url)).toBe(given);
  expect(free(calls)).toBe(1);
});

test('what nothing bounds is left as it is', async () => {
  const given = short();
  expect(await resilientFetch([{ retry: 3 }, { breaker: {} }], giving(given))(url)).toBe(given);
});

test('bodies end with their headers where that is said', async () => {
  const clock = virtualClock();
  const calls = pipeline([{ bulkhead: 1 }, { timeout: '1s' }], { clock });
  const written = new Written();
  const get = resilientFetch(calls, { ...giving(written.answer), body: 'headers' } as object);
  expect(await get(url)).toBe(written.answer);
  expect(free(calls)).toBe(1);
  const idle = new Written();
  const answer = await resilientFetch(calls, {
    ...giving(idle.answer),
    body: 'headers',
    idleTimeout: '5s',
  } as object)(url);
  const text = answer.text().catch((error: unknown) => error);
  expect(free(calls)).toBe(1);
  await clock.advance(4999);
  idle.write('a');
  await settled();
  await clock.advance(5000);
  expect(await text).toMatchObject({ step: 'idle' });
});

test('votes and ends come with the headers', async () => {
  const clock = virtualClock();
  const calls = pipeline([{ breaker: { window: { consecutive: 1 } } }, { bulkhead: 2 }, { timeout: '1s' }], {
    clock,
  });
  const log: string[] = [];
  calls.on(({ kind, outcome }) => log.push(outcome ? `${kind} ${outcome}` : kind));
  const stalled = new Written();
  const answer = await resilientFetch(calls, giving(stalled.answer))(url);
  const text = answer.text().catch(() => 'cut');
  expect(log).toEqual(['admit', 'end ok']);
  expect(calls.running).toBe(0);
  await calls.drain();
  await clock.advance(1000);
  expect(await text).toBe('cut');
  expect(log).toEqual(['admit', 'end ok']);
  expect(calls.step('breaker').state()).toBe('closed');
});

test('the last failed answer holds its place, those before it do not', async () => {
  const clock = virtualClock();
  const calls = pipeline([{ retry: { attempts: 2, backoff: 'none' } }, { bulkhead: 1 }, { timeout: '1s' }], {
    clock,
  });
  const [one, two] = [new Written(undefined, { status: 500 }), new Written(undefined, { status: 500 })];
  const answer = await resilientFetch(calls, giving(one.answer, two.answer))(url);
  expect(one.cancelled).toBe('no reason');
  expect([answer.status, free(calls)]).toEqual([500, 0]);
  two.write('sorry');
  two.parts.close();
  expect(await answer.text()).toBe('sorry');
  expect(free(calls)).toBe(1);
});

test('an answer that the fallback replaces holds nothing', async () => {
  const clock = virtualClock();
  const calls = pipeline([{ bulkhead: 1 }], { clock });
  calls.configure({ steps: [{ bulkhead: 1 }], fallback: { status: 203, body: 'other' } });
  const failed = new Written(undefined, { status: 500 });
  const answer = await resilientFetch(calls, giving(failed.answer))(url);
  expect(await answer.text()).toBe('other');
  expect(free(calls)).toBe(1);
  expect(failed.cancelled).toBe('no reason');
});

test('of a hedged call only the winner holds a place', async () => {
  const clock = virtualClock();
  const calls = pipeline([{ hedge: { after: '1s' } }, { bulkhead: 3 }, { timeout: '5s' }], { clock });
  const won = new Written();
  let sent = 0;
  const fetch = (() => (++sent === 1 ? new Promise(() => {}) : Promise.resolve(won.answer))) as never;
  const given = resilientFetch(calls, { fetch })(url);
  await clock.advance(1000);
  const answer = await given;
  expect([sent, free(calls)]).toEqual([2, 2]);
  const text = answer.text().catch((error: unknown) => error);
  await clock.advance(5000);
  expect(await text).toBeInstanceOf(TimeoutError);
  expect(free(calls)).toBe(3);
});

test('what waits gets the place of a body that ends', async () => {
  const calls = pipeline([{ bulkhead: { concurrent: 1, queue: 1 } }], { clock: virtualClock() });
  const first = new Written();
  const get = resilientFetch(calls, giving(first.answer, short()));
  const answer = await get(url);
  const second = get(url);
  first.parts.close();
  await answer.text();
  expect(await (await second).text()).toBe('short');
});

test('a pipeline that is disposed keeps its memory until bodies end', async () => {
  const calls = pipeline([{ bulkhead: 1 }], { clock: virtualClock() });
  const written = new Written();
  const answer = await resilientFetch(calls, giving(written.answer))(url);
  calls.dispose();
  written.write('a');
  written.parts.close();
  expect(await answer.text()).toBe('a');
  expect(() => calls.step('bulkhead').counts()).toThrow();
});

/** Has the runtime collect what is garbage. */
async function collect(until: () => boolean): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  for (let i = 0; i < 30 && !until(); i++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    gc();
  }
}

test.each([undefined, 'bytes'] as const)('a read that waits is no garbage, of type %s', async (type) => {
  const calls = pipeline([{ bulkhead: 1 }], { clock: virtualClock() });
  let written: Written | undefined = new Written(type);
  const { parts } = written;
  let text: string | undefined;
  const get = resilientFetch(calls, giving(written.answer));
  void (async () => {
    text = await (await get(url)).text();
  })();
  written = undefined;
  await settled();
  parts.enqueue(encoder.encode('a') as never);
  await collect(() => false);
  expect(free(calls)).toBe(0);
  parts.enqueue(encoder.encode('b') as never);
  await collect(() => false);
  parts.close();
  await settled();
  expect(text).toBe('ab');
  expect(free(calls)).toBe(1);
});

test('a place of a body that is garbage is returned', async () => {
  const calls = pipeline([{ bulkhead: 2 }], { clock: virtualClock() });
  const big = new Response(new Uint8Array(1 << 20));
  const stalled = new Written();
  const get = resilientFetch(calls, giving(big, stalled.answer));
  await get(url);
  await get(url);
  expect(free(calls)).toBe(0);
  await collect(() => free(calls) === 2);
  expect(free(calls)).toBe(2);
});

test.each([
  [{ body: 'whole' }, 'resilientFetch.body: found "whole"; allowed held, headers'],
  [{ idleTimeout: 30 }, 'resilientFetch.idleTimeout: found 30; allowed a duration'],
  [{ idleTimeout: '0s' }, 'resilientFetch.idleTimeout: found "0s"; allowed a duration'],
  [{ idleTimeout: '30' }, 'resilientFetch.idleTimeout: found "30"; allowed a duration'],
])('options %j are refused', (options, message) => {
  expect(() => resilientFetch([{ timeout: '1s' }], options as object)).toThrow(message);
  expect(() => resilientFetch([{ timeout: '1s' }], options as object)).toThrow(
    expect.objectContaining({ code: 'bad-argument' } satisfies Partial<PolicyError>),
  );
});

// Over real sockets, in real time.
const servers: Server[] = [];

async function serving(answer: (to: ServerResponse) => void): Promise<Server> {
  const server = createServer((_, to) => {
    if (!to.headersSent) setImmediate(() => answer(to));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const addressOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

test('a server that stalls after its first line', async () => {
  let closed = 0;
  const server = await serving((answer) => {
    answer.on('close', () => closed++);
    answer.write('a line\n');
  });
  const calls = pipeline([{ bulkhead: 1 }, { timeout: '300ms' }]);
  const get = resilientFetch(calls);
  const answer = await get(addressOf(server));
  await expect(get(addressOf(server))).rejects.toBeInstanceOf(RejectedError);
  await expect(answer.text()).rejects.toBeInstanceOf(TimeoutError);
  expect(free(calls)).toBe(1);
  for (let i = 0; i < 100 && !closed; i++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(closed).toBe(1);
});
