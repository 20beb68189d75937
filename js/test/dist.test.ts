// What is built is what is shipped: these run on dist/, after `npm run build`.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;
const built = existsSync(`${root}dist/core.js`);
const node = (type: 'module' | 'commonjs', code: string, ...options: string[]): string =>
  execFileSync('node', [...options, `--input-type=${type}`, '-e', code], { cwd: root }).toString();
const gzipped = (...files: string[]): number =>
  gzipSync(Buffer.concat(files.map((file) => readFileSync(`${root}dist/${file}`))), { level: 9 }).length;

const USE = `
  const clock = virtualClock();
  const limiter = rateLimiter({ rate: '1/1s', wait: '2s', clock });
  limiter.tryAcquire();
  const waits = limiter.acquire();
  const result = pipeline([{ retry: { attempts: 2, backoff: { constant: '1s' }, jitter: 'none' } }], { clock })
    .execute(({ attempt }) => { if (attempt === 1) throw new Error('no'); return attempt; });
  let problem; try { rateLimiter('x'); } catch (error) { problem = error; }
  clock.advance(1000).then(async () => console.log(JSON.stringify([
    await waits, await result, problem instanceof PolicyError, problem.problems[0].path,
    evaluate({ steps: [{ limit: '1/1s' }] }, [{ at: '0s', op: 'call', id: 1 }]),
  ])));`;
const USED = '[{"ok":true},2,true,"limit",[{"at":"0s","id":1,"decision":"admit","attempt":1}]]\n';

describe.skipIf(!built)('dist', () => {
  test('ESM', () => {
    expect(
      node(
        'module',
        `import { rateLimiter, pipeline, PolicyError } from '@sluice/core'; import { virtualClock, evaluate } from '@sluice/core/testing'; ${USE}`,
      ),
    ).toBe(USED);
  });

  test('CommonJS', () => {
    expect(
      node(
        'commonjs',
        `const { rateLimiter, pipeline, PolicyError } = require('@sluice/core'); const { virtualClock, evaluate } = require('@sluice/core/testing'); ${USE}`,
      ),
    ).toBe(USED);
  });

  test('slim, with bytes, a module and an answer', () => {
    for (const source of [
      `initSync(bytes)`,
      `await init(bytes)`,
      `await init(new WebAssembly.Module(bytes))`,
      `await init(Promise.resolve(new Response(bytes)))`,
    ]) {
      const code = `import { init, initSync, rateLimiter } from '@sluice/core/slim'; import { readFileSync } from 'node:fs';
        let before; try { rateLimiter('1/1s'); } catch (error) { before = error.message; }
        const bytes = readFileSync(new URL(import.meta.resolve('@sluice/core/core.wasm'))); ${source};
        console.log(before, rateLimiter('1/1s').tryAcquire().ok);`;
      expect(node('module', code)).toMatch(/^module: found none; .* true\n$/);
    }
  });

  test('slim refuses an answer that is not ok', () => {
    const code = `import { init } from '@sluice/core/slim';
      await init(Promise.resolve(new Response('no', { status: 404 }))).catch((e) => console.log(e.name, e.code, e.message))`;
    expect(node('module', code)).toBe(
      'PolicyError bad-argument module: found status 404; allowed 200 to 299\n',
    );
  });

  test.each(['module', 'commonjs'] as const)('entries of one mechanism, %s', (type) => {
    const load = (names: string, entry: string): string =>
      type === 'module'
        ? `import { ${names} } from '@sluice/core/${entry}';`
        : `const { ${names} } = require('@sluice/core/${entry}');`;
    const run = (names: string, entry: string, code: string): unknown =>
      JSON.parse(node(type, `${load(names, entry)} ${code}`));
    expect(
      run(
        'rateLimiter',
        'limiter',
        `const l = rateLimiter({ rate: '2/1h', burst: 1, name: 'a' }); const k = rateLimiter.keyed('1/1h'); console.log(JSON.stringify([l.tryAcquire(), l.tryAcquire().reason, k.tryAcquire('a'), l.snapshot().version]))`,
      ),
    ).toEqual([{ ok: true }, 'rate', { ok: true }, 1]);
    expect(
      run(
        'circuitBreaker',
        'breaker',
        `const b = circuitBreaker({ window: { consecutive: 1 }, open: '1h' }); b.execute(() => { throw 1; }).catch(() => b.attempt(() => 1)).then((v) => console.log(JSON.stringify([b.state, v.reason])))`,
      ),
    ).toEqual(['open', 'open']);
    expect(
      run(
        'retry',
        'retry',
        `retry({ attempts: 2, backoff: 'none' }).execute(({ attempt }) => { if (attempt < 2) throw 1; return attempt; }).then((n) => console.log(n)); setTimeout(() => {}, 50)`,
      ),
    ).toBe(2);
  });

  test.each(['module', 'commonjs'] as const)('stacks have names, and the sources with maps, %s', (type) => {
    const use = type === 'module' ? 'import { rateLimiter } from' : 'const { rateLimiter } = require(';
    const code = `${use} '@sluice/core'${type === 'module' ? '' : ')'}; const l = rateLimiter({ rate: '1/1h', stack: true });
      l.tryAcquire(); l.execute(() => 1).catch(({ stack }) => console.log(stack)); console.log(l.tryAcquire({ cost: 5 }), l);`;
    const plain = node(type, code);
    expect(plain).toMatch(/at RateLimiter\.execute \(.*(core|inline|node)\.c?js:\d/);
    expect(plain).toContain("RateLimiter { name: 'limit', free: 0 }");
    expect(node(type, code, '--enable-source-maps')).toMatch(
      /at RateLimiter\.execute \(.*src\/cells\/cell\.ts:\d/,
    );
  });

  // An uncaught error prints the line that threw it, its stack and its properties.
  test.each([
    ['module', "import { rateLimiter } from '@sluice/core'; rateLimiter({ rate: '50' });"],
    ['module', "import { pipeline } from '@sluice/core'; pipeline([{ limit: '50/1m', retry: 3 }]);"],
    ['module', "import { pipeline } from '@sluice/core/js'; pipeline([{ timeout: 10 }]);"],
    ['module', "import { rateLimiter } from '@sluice/core/limiter'; rateLimiter({ rates: '50/1m' });"],
    ['module', "import { circuitBreaker } from '@sluice/core/breaker'; circuitBreaker({ open: 5 });"],
    ['module', "import { retry } from '@sluice/core/retry'; retry({ attempts: 0 });"],
    [
      'commonjs',
      "const { rateLimiter } = require('@sluice/core'); rateLimiter('50/1m').tryAcquire({ costs: 1 });",
    ],
    ['commonjs', "const { rateLimiter } = require('@sluice/core/limiter/token-bucket'); rateLimiter('50');"],
  ] as const)('an uncaught error is short: %s, %s', (type, code) => {
    const { status, stderr } = spawnSync('node', [`--input-type=${type}`, '-e', code], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^PolicyError: \S.*found .*allowed/m);
    expect(stderr).not.toContain('_PolicyError');
    // What does not depend on where the package is.
    expect(stderr.replaceAll(`file://${root}`, '').replaceAll(root, '').length).toBeLessThanOrEqual(2304);
    expect(Math.max(...stderr.split('\n').map((line) => line.length))).toBeLessThan(700);
  });

  test('the module is that of the repository', () => {
    expect(readFileSync(`${root}dist/core.wasm`).equals(readFileSync(`${root}../wasm/core.wasm`))).toBe(true);
  });

  test('JavaScript without the module is small', () => {
    expect(gzipped('core.js')).toBeLessThanOrEqual(55_200);
  });
});
