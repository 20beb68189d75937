// Whether a process lives as long as a caller waits and no longer: these run on dist/, after `npm run build`.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;
const env = { ...process.env, NODE_OPTIONS: '' };

/** Runs a script to its end, for which a minute is far more than it takes. */
const run = (code: string, entry = ''): string =>
  execFileSync(
    'node',
    ['--input-type=module', '-e', `import * as sluice from '@sluice/core${entry}';\n${code}`],
    { cwd: root, env, timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] },
  ).toString();

const MAIN = `
  const { pipeline, resilientFetch, rateLimiter, bulkhead, timeout, retry } = sluice;
  async function main(script) { console.log(JSON.stringify(await script())); }`;

describe.skipIf(!existsSync(`${root}dist/core.js`))('a process lives while a caller waits', () => {
  test.for([
    [
      'a fetch between two attempts',
      `let sent = 0;
       const get = resilientFetch([{ retry: { attempts: 2, backoff: { constant: '5ms' }, jitter: 'none' } }], {
         fetch: async () => new Response('', { status: sent++ ? 200 : 503 }),
       });
       main(async () => (await get('https://example.com/')).status);`,
      '200',
    ],
    [
      'a waiter of a limiter',
      `const limiter = rateLimiter({ rate: '1/5ms', wait: '1h' });
       limiter.tryAcquire();
       main(() => limiter.acquire());`,
      '{"ok":true}',
    ],
    [
      'a waiter of a bulkhead whose wait ends',
      `const places = bulkhead({ concurrent: 1, queue: 1, wait: '5ms' });
       await places.acquire();
       main(async () => (await places.acquire()).reason);`,
      '"wait"',
    ],
    [
      'a timeout',
      `main(() => timeout('5ms').execute(() => new Promise(() => {})).catch((error) => error.name));`,
      '"TimeoutError"',
    ],
    [
      'an attempt after a timer that no caller waited for was set',
      `const breaker = sluice.circuitBreaker({ window: { consecutive: 1 }, open: '1h' });
       breaker.on(() => {});
       await breaker.execute(() => Promise.reject(1)).catch(() => {});
       main(() => timeout('5ms').attempt(() => new Promise(() => {})).then(({ reason }) => reason));`,
      '"timeout"',
    ],
  ] as const)('%s', ([, code, printed]) => {
    expect(run(`${MAIN}\n${code}`)).toBe(`${printed}\n`);
  });

  test('an attempt of @sluice/core/retry', () => {
    const code = `const again = sluice.retry({ attempts: 2, backoff: { constant: '5ms' }, jitter: 'none' });
      const main = async () => console.log(await again.execute(({ attempt }) => {
        if (attempt < 2) throw new Error('no');
        return attempt;
      }));
      main();`;
    expect(run(code, '/retry')).toBe('2\n');
  });

  test('a test of node:test ends with its result', () => {
    const code = `import { pipeline } from '@sluice/core'; import test from 'node:test';
      test('waits', async () => {
        await pipeline([{ retry: { attempts: 2, backoff: { constant: '5ms' } } }]).execute(({ attempt }) => {
          if (attempt < 2) throw new Error('no');
        });
      });`;
    const ran = spawnSync('node', ['--input-type=module', '-e', code], { cwd: root, env, timeout: 60_000 });
    expect(ran.stdout.toString()).not.toContain('cancelledByParent');
    expect(ran.status).toBe(0);
  });

  test('a process that is done ends at once', () => {
    const code = `
      await timeout('1h').execute(() => 1);
      await pipeline([{ retry: 3 }, { bulkhead: { concurrent: 1, queue: 5, wait: '1h' } }, { timeout: '1h' }]).execute(() => 1);
      const limiter = rateLimiter({ rate: '1/1h', wait: '2h' });
      limiter.tryAcquire();
      const controller = new AbortController();
      const gone = limiter.acquire({ signal: controller.signal }).catch(() => {});
      controller.abort();
      await gone;
      await bulkhead({ concurrent: 1, lease: '1h' }).acquire();
      console.log('done');`;
    expect(run(`${MAIN}\n${code}`)).toBe('done\n');
  });
});
