// Functions of the user that throw, or return what they must not: the default takes their place, and it is printed once.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { circuitBreaker, pipeline, resilientFetch, retry } from '../src/index.js';
import * as forExpress from '../src/servers/express.js';
import * as handler from '../src/servers/fetch-handler.js';

/** What a function may do wrong. */
const MISTAKES = {
  throws: () => {
    throw new Error('own');
  },
  'is async': async () => 'ok',
  'is async and rejects': async () => {
    throw new Error('own');
  },
  'returns nothing': () => undefined,
  'returns null': () => null,
  'returns a typo': () => 'okay',
  'returns another type': () => ({}),
} as const;

const rows = Object.entries(MISTAKES) as [string, () => never][];
/** A function of its own for each test: it is printed once for each. */
const own = (mistake: () => never) => () => mistake();

let printed: string[];

beforeEach(() => {
  printed = [];
  vi.spyOn(console, 'error').mockImplementation((...texts) => void printed.push(String(texts[0])));
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Expects one line about a function. */
const told = (name: string): void =>
  expect(printed).toEqual([expect.stringContaining(`@sluice/core: ${name}: `)]);

const boom = new Error('boom');
const fails = async (): Promise<never> => {
  throw boom;
};

describe.each(rows)('a function that %s', (what, mistake) => {
  const window = { consecutive: 3 } as const;
  describe.each([
    ['circuitBreaker', () => circuitBreaker({ window, outcome: own(mistake) })],
    [
      'circuitBreaker with a listener',
      () => {
        const breaker = circuitBreaker({ window, outcome: own(mistake) });
        breaker.on(() => {});
        return breaker;
      },
    ],
    [
      'circuitBreaker.keyed',
      () => {
        const keyed = circuitBreaker.keyed({ window, outcome: own(mistake) });
        const execute = <T>(task: () => T | PromiseLike<T>) => keyed.execute(task, { key: 'a' });
        return {
          execute,
          get state() {
            return keyed.state('a');
          },
        };
      },
    ],
    [
      'pipeline',
      () => {
        const calls = pipeline([{ breaker: { window } }], { outcome: own(mistake) });
        const execute = <T>(task: () => T | PromiseLike<T>) => calls.execute(task);
        return {
          execute,
          get state() {
            return calls.step('breaker').state();
          },
        };
      },
    ],
  ])('as outcome of %s', (_, make) => {
    test('leaves successes successes', async () => {
      const breaker = make();
      for (let i = 0; i < 5; i++) expect(await breaker.execute(() => i)).toBe(i);
      expect(breaker.state).toBe('closed');
      told('outcome');
    });

    test('leaves failures failures', async () => {
      const breaker = make();
      for (let i = 0; i < 3; i++) await expect(breaker.execute(fails)).rejects.toBe(boom);
      expect(breaker.state).toBe('open');
      told('outcome');
    });
  });

  test.each([
    ['retry', (outcome: never) => retry({ attempts: 3, backoff: 'none', outcome })],
    ['pipeline', (outcome: never) => pipeline([{ retry: { attempts: 3, backoff: 'none' } }], { outcome })],
  ])('as outcome of a %s: a success is no failure, a failure is tried again', async (_, make) => {
    const calls = make(own(mistake) as never);
    const good = vi.fn(async () => 1);
    expect(await calls.execute(good)).toBe(1);
    expect(good).toHaveBeenCalledTimes(1);
    const bad = vi.fn(fails);
    await expect(calls.execute(bad)).rejects.toBe(boom);
    expect(bad).toHaveBeenCalledTimes(3);
    told('outcome');
  });

  test.each(['delay', 'retryAfter'])('as %s does not delay', async (name) => {
    const bad = vi.fn(fails);
    const calls = retry({ attempts: 3, backoff: 'none', [name]: own(mistake) });
    await expect(calls.execute(bad)).rejects.toBe(boom);
    expect(bad).toHaveBeenCalledTimes(3);
    if (name === 'retryAfter' && what === 'returns nothing') expect(printed).toEqual([]);
    else told(name);
  });

  test('as fallback gives what it gives', async () => {
    const policy = { steps: [{ breaker: { window } }], fallback: { status: 503 } };
    const calls = pipeline([{ breaker: {} }], { fallback: own(mistake) });
    calls.configure(policy);
    const found = calls.execute(fails);
    if (/throws|rejects/.test(what)) await expect(found).rejects.toThrow('own');
    else expect(await found).toEqual(await mistake());
    expect(printed).toEqual([]);
  });

  test('as discard or listener changes nothing', async () => {
    const calls = pipeline([{ retry: { attempts: 2, backoff: 'none' } }], {
      discard: own(mistake),
      outcome: (error) => (error ? 'fail' : 'throttle'),
    });
    calls.on(own(mistake));
    expect(await calls.execute(() => 'last')).toBe('last');
    const errors = /throws|rejects/.test(what) ? 2 : 0;
    await new Promise((resolve) => setImmediate(resolve));
    expect(printed).toEqual(Array(errors).fill(expect.stringContaining('a listener or hook failed')));
  });

  test.each(['key', 'cost'])('as %s rejects, and takes nothing', async (name) => {
    const calls = pipeline([{ limit: { rate: '1/1h', per: 'key' } }]);
    const wrong = { [name]: own(mistake) } as object;
    const served = vi.fn(() => new Response('ok'));
    const serve = handler.guard(calls, served, wrong);
    const request = (): Request => new Request('https://example.com/');
    const nothing = /nothing|null/.test(what);
    const given = name === 'key' && what === 'returns a typo';
    if (nothing || given) expect((await serve(request())).status).toBe(200);
    else {
      await expect(serve(request())).rejects.toThrow(/own|allowed/);
      expect(served).not.toHaveBeenCalled();
      expect(calls.quotas({ key: '' })[0]?.remaining).toBe(1);
    }
    if (name === 'cost') return;
    const fetch = vi.fn(async () => new Response('ok'));
    const get = resilientFetch(pipeline([{ limit: '1/1h' }]), { ...wrong, fetch });
    const answer = get('https://example.com/');
    if (nothing || given) expect((await answer).status).toBe(200);
    else {
      await expect(answer).rejects.toThrow(/own|allowed/);
      expect(fetch).not.toHaveBeenCalled();
    }
  });

  test('as attributes or ip rejects, and takes nothing', async () => {
    const calls = pipeline([{ limit: { rate: '1/1h', per: 'ip' } }, { breaker: {} }]);
    const task = vi.fn(() => 1);
    const serve = handler.guard(calls, () => new Response('ok'), { ip: own(mistake) });
    if (/nothing|null|typo/.test(what)) {
      await calls.execute(task, { attributes: own(mistake) });
      expect(task).toHaveBeenCalledTimes(1);
      return;
    }
    await expect(calls.execute(task, { attributes: own(mistake) })).rejects.toThrow(/own|allowed/);
    expect(task).not.toHaveBeenCalled();
    await expect(serve(new Request('https://example.com/'))).rejects.toThrow(/own|allowed/);
    expect(calls.running).toBe(0);
  });

  test('as skip lets no request pass', async () => {
    const skip = own(mistake);
    const serve = handler.guard(pipeline([{ limit: '1/1h' }]), () => new Response('ok'), { skip } as object);
    const status = async (): Promise<number> => (await serve(new Request('https://example.com/'))).status;
    const truthy = /typo|another/.test(what);
    expect([await status(), await status()]).toEqual([200, truthy ? 200 : 429]);
    if (/throws|async/.test(what)) told('skip');
    else expect(printed).toEqual([]);
  });

  test('as outcome of a guard leaves the outcome of the status', async () => {
    const calls = pipeline([{ breaker: { window: { consecutive: 2 } } }, { bulkhead: 1 }]);
    const app = express();
    app.use(forExpress.guard(calls, { outcome: own(mistake) }));
    app.use((request, response) => void response.status(Number(request.path.slice(1))).end());
    const server = createServer(app).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const ask = async (status: number): Promise<string> => {
        await (await fetch(`${base}/${status}`)).text();
        await calls.drain();
        return calls.step('breaker').state() as string;
      };
      expect([await ask(200), await ask(200), await ask(200)]).toEqual(['closed', 'closed', 'closed']);
      expect([await ask(500), await ask(500)]).toEqual(['closed', 'open']);
      expect(calls.step('bulkhead').counts().free).toBe(1);
    } finally {
      server.closeAllConnections();
      server.close();
    }
    told('outcome');
  });
});

test('the line says what was returned, and an error is printed with it', async () => {
  const breaker = circuitBreaker({ outcome: (() => 'okay') as never });
  await breaker.execute(() => 1);
  expect(printed[0]).toBe(
    '@sluice/core: outcome: found "okay"; allowed ok, fail, throttle, ignore. The default takes its place; more of this function is not printed',
  );
  await circuitBreaker({ outcome: (async () => 'ok') as never }).execute(() => 1);
  expect(printed[1]).toContain('found a promise;');
  await circuitBreaker({ outcome: () => fails.call(undefined) as never }).execute(() => 1);
  const spy = vi.spyOn(console, 'error').mockImplementation(() => {});
  await circuitBreaker({
    outcome() {
      throw boom;
    },
  }).execute(() => 1);
  expect(spy).toHaveBeenCalledWith(expect.stringContaining('outcome: it threw;'), boom);
});

test.each(['timeout', 'cancel', ''])('%j is no outcome of a function', async (word) => {
  const calls = pipeline([{ breaker: { window: { consecutive: 1 } } }], { outcome: (() => word) as never });
  expect(await calls.execute(() => 1)).toBe(1);
  expect(calls.step('breaker').state()).toBe('closed');
  told('outcome');
});
