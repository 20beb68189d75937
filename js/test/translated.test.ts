// The entry without WebAssembly, as it is built: these run on dist/, after `npm run build`.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
// @ts-expect-error a script of the build, which has no types
import { translate } from '../scripts/translate.mjs';
import {
  ABI,
  type Exports,
  SLOT_BUFFER,
  SLOT_GENERATION,
  SLOT_KEYS,
  SLOT_SIZE,
  SLOT_SLOT,
} from '../src/generated/abi.js';
import type { Policy } from '../src/index.js';
import { encode } from '../src/reader/encode.js';
import { readPolicy } from '../src/reader/policy.js';
import { readSource } from '../src/reader/read.js';

const root = new URL('../', import.meta.url).pathname;
const built = existsSync(`${root}dist/translated.js`);
const env = { ...process.env, NODE_OPTIONS: '' };

/** No WebAssembly, no compiler at all, and no code from texts. */
const BARE = ['--jitless', '--disallow-code-generation-from-strings'];

const node = (args: readonly string[], input = '', more: NodeJS.ProcessEnv = {}): string =>
  execFileSync('node', args, {
    cwd: root,
    env: { ...env, ...more },
    input,
    stdio: ['pipe', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  }).toString();

/** Runs a program with the entries as `sluice` and `testing`, and reads the JSON that it prints. */
const bare = (type: 'module' | 'commonjs', code: string, input = ''): unknown => {
  const load =
    type === 'module'
      ? `import * as sluice from '@sluice/core/js'; import * as testing from '@sluice/core/js/testing'; import { readFileSync } from 'node:fs';`
      : `const sluice = require('@sluice/core/js'); const testing = require('@sluice/core/js/testing'); const { readFileSync } = require('node:fs');`;
  return JSON.parse(node([...BARE, `--input-type=${type}`, '-e', `${load}\n${code}`], input));
};

/** What is known of an instance: its exports, and what it has in memory. */
class Instance {
  constructor(readonly x: Exports) {
    x._initialize();
    expect(x.abi()).toBe(ABI);
  }

  get memory(): Uint8Array {
    return new Uint8Array((this.x.memory as unknown as { buffer: ArrayBuffer }).buffer);
  }

  get slots(): Uint32Array {
    return new Uint32Array(this.memory.buffer, this.x.slots(), 80);
  }

  put(bytes: string): number {
    this.x.buffer(bytes.length);
    this.memory.set(Buffer.from(bytes, 'latin1'), this.slots[SLOT_BUFFER]);
    return bytes.length;
  }

  left(): string {
    const { memory, slots } = this;
    const at = slots[SLOT_BUFFER] as number;
    return Buffer.from(memory.subarray(at, at + (slots[SLOT_SIZE] as number))).toString('latin1');
  }
}

const module = new WebAssembly.Module(readFileSync(`${root}../wasm/core.wasm`));
const instanceOf = (exports: unknown): Instance => new Instance(exports as Exports);
const ofWasm = (): Instance => instanceOf(new WebAssembly.Instance(module).exports);
const { instantiate } = built
  ? ((await import(`${root}dist/translated.js`)) as { instantiate: () => { exports: unknown } })
  : { instantiate: () => ({ exports: undefined }) };
const translated = (): Instance => instanceOf(instantiate().exports);

type Call = Exclude<keyof Exports, 'memory' | '_initialize'>;

/** An instance of the module and one of its translation, of which the same is expected. */
class Both {
  private readonly both = [ofWasm(), translated()] as const;

  run<T>(use: (instance: Instance) => T): T {
    const [ours, theirs] = this.both.map(use) as [T, T];
    expect(theirs).toEqual(ours);
    return ours;
  }

  call(name: Call, ...args: readonly unknown[]): number {
    return this.run(({ x }) => (x[name] as (...args: readonly unknown[]) => number)(...args));
  }

  slot(index: number): number {
    return this.run(({ slots }) => slots[index] as number);
  }

  compile(policy: Policy): number {
    const plan = encode(readSource(policy, readPolicy));
    return this.run((instance) => instance.x.compile(instance.put(plan)));
  }

  /** All of their memories: every byte is the same. */
  same(): void {
    const [ours, theirs] = this.both;
    expect(Buffer.compare(theirs.memory, ours.memory)).toBe(0);
  }
}

/** A small generator, so that a failure can be repeated. */
function generator(seed: number) {
  let state = seed;
  const below = (n: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  return { below, one: <T>(of: readonly T[]): T => of[below(of.length)] as T };
}

const POLICIES: readonly Policy[] = [
  {
    steps: [
      { timeout: '3s' },
      { retry: { attempts: 3, backoff: { decorrelated: '100ms', max: '2s' }, budget: '20%' } },
      { breaker: { window: { time: '5s', buckets: 5 }, minimum: 2, slow: { over: '1s', rate: '50%' } } },
      { limit: { rate: '7/3s', burst: 3, wait: '1s', queue: 3, per: 'key', keys: 3 } },
      { bulkhead: { concurrent: 2, queue: 2, wait: '1s', lease: '2s' } },
      { timeout: '700ms' },
    ],
  },
  {
    steps: [
      { limit: { rate: '5/1s', algorithm: 'sliding-counter', wait: '2s', name: 'counter' } },
      { limit: { rate: '9/1s', algorithm: 'sliding-log', name: 'log', per: 'key' } },
      { limit: { rate: '9/1s', algorithm: 'leaky-bucket', wait: '1s', name: 'leaky' } },
      { hedge: { after: 'p50', samples: 5, minimum: 2, max: 2, budget: '30%' } },
      { adaptive: { initial: 2, minimum: 1, maximum: 5, over: '500ms' } },
    ],
  },
  {
    steps: [
      { limit: { rate: '5/1s', algorithm: 'fixed-window', wait: '1s', order: 'newest', queue: 2 } },
      { breaker: { window: { consecutive: 2 }, open: { exponential: '1s', max: '8s' }, per: 'key' } },
      { hedge: { parallel: true, max: 2 } },
    ],
  },
];

/** Numbers of milliseconds beyond which the core knows no other mark, and those near them. */
const EXTREME = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -0,
  1e300,
  -1e300,
  9_223_372_036_854.775,
  9_223_372_036_854.777,
  -9_223_372_036_854.775,
  -9_223_372_036_854.777,
  4_294.967_296,
  2 ** 53,
  5e-324,
];

/** All conversions of floats to integers that saturate. */
const CONVERSIONS = ['i32', 'i64'].flatMap((to) =>
  ['f32', 'f64'].flatMap((from) => ['s', 'u'].map((sign) => [to, from, sign] as const)),
);

describe.skipIf(!built)('without WebAssembly', () => {
  afterEach(() => vi.unstubAllGlobals());

  test('the conformance vectors are equal, and a bit that flips is found', { timeout: 300_000 }, () => {
    const replay = (...args: string[]): string =>
      node(['../vectors/node.mjs', ...args], '', { SLUICE_WASM: `${root}dist/translated.js` });
    expect(replay()).toMatch(/^\d{6} steps in \d+ suites are equal/);
    expect(replay('311')).toBe('a bit that flips at step 311 is found\n');
  });

  test('random calls have the same results and leave the same memory', () => {
    let decided = 0;
    for (let seed = 1; seed <= 30; seed++) {
      const { below, one } = generator(seed);
      const both = new Both();
      const plans = POLICIES.map((policy) => both.compile(policy));
      const pipeline = both.call('pipeline', one(plans), seed, below(2 ** 32));
      const calls: [slot: number, generation: number][] = [[below(9), below(9)]];
      let now = 0;
      // Marks never go back, so that only the last calls of a few have the extreme ones.
      const time = (i: number): number => {
        now += one([0, 0.000_001, 49.999_999_7, 333.3, 1000]);
        return i > 150 && seed % 3 === 0 ? one(EXTREME) : now;
      };
      const span = (i: number): number => one([Number.NaN, below(3000) / 7, i > 100 ? one(EXTREME) : 1]);
      for (let i = 0; i < 200; i++) {
        const key = below(5);
        both.run(({ slots }) => slots.fill(key, SLOT_KEYS, SLOT_KEYS + 16));
        const kind = below(20);
        if (kind < 9) {
          const cost = one([1, 1, 1, 0, 2, 2 ** 32 + 1.5]);
          decided += both.call('begin', pipeline, cost, below(2), span(i), time(i));
          calls.push([both.slot(SLOT_SLOT), both.slot(SLOT_GENERATION)]);
        } else if (kind < 15)
          both.call('done', pipeline, ...one(calls), below(3), 1 + below(6), span(i), time(i));
        else if (kind === 15) both.call('cancel', pipeline, ...one(calls), time(i));
        else if (kind === 16) both.call('renew', pipeline, ...one(calls), below(2), time(i));
        else if (kind === 17) both.call('advance', pipeline, time(i));
        else if (kind === 18) {
          const step = below(6);
          if (both.call('save', pipeline, step, key) > 0) {
            const state = both.run((instance) => instance.left());
            both.run((instance) => instance.put(state));
            both.call('load', pipeline, step, key, state.length, span(i), time(i));
          }
        } else both.call('configure', pipeline, one(plans), time(i));
        both.run((instance) => instance.left());
        if (i % 20 === 0) both.same();
      }
      both.same();
    }
    expect(decided).toBeGreaterThan(2000);
  });

  test('numbers that are none of the ABI are the same numbers', () => {
    const both = new Both();
    for (const number of [2 ** 31, -1, 1.7, '3', 2 ** 32 + 5, Number.NaN, undefined, null]) {
      for (const name of ['buffer', 'free', 'limit', 'compile'] as const) both.call(name, number);
      both.call('begin', number, number, number, number, number);
      both.call('cell', number, number);
    }
    both.same();
  });

  test('memory grows, and is full at the same object', () => {
    const both = new Both();
    const plan = both.compile({ steps: [{ breaker: { window: { time: '1s', buckets: 1000 } } }] });
    const maker = both.call('maker', plan, 0);
    expect(both.call('limit', 8 * 2 ** 20)).toBe(8 * 2 ** 20);
    let cells = 0;
    while (both.call('cell', maker, 0) > 0) cells++;
    expect(cells).toBeGreaterThan(100);
    expect(both.call('cell', maker, 0)).toBe(-7);
    both.same();
  });

  test('where the engine has no memory left, an object is refused and what there is works', () => {
    const alone = translated();
    const plan = encode(readSource(POLICIES[2], readPolicy));
    const handle = alone.x.compile(alone.put(plan));
    const maker = alone.x.maker(handle, 1);
    const cells = [alone.x.cell(maker, 0)];
    const Buffers = globalThis.ArrayBuffer;
    vi.stubGlobal(
      'ArrayBuffer',
      class extends Buffers {
        constructor(size: number) {
          if (size > 4 * 2 ** 20) throw new RangeError('Array buffer allocation failed');
          super(size);
        }
      },
    );
    while ((cells.at(-1) as number) > 0) cells.push(alone.x.cell(maker, 0));
    expect(cells.pop()).toBe(-7);
    expect(cells.length).toBeGreaterThan(1000);
    expect(alone.memory.length).toBeLessThanOrEqual(4 * 2 ** 20);
    for (const cell of cells) expect(alone.x.acquire(cell, 1, 0, 0)).toBeGreaterThanOrEqual(0);
    for (const cell of cells) alone.x.free(cell);
    expect(alone.x.cell(maker, 0)).toBeGreaterThan(0);
  });

  test('floats beyond the integers become the nearest one, and NaN becomes 0', async () => {
    // The core checks its floats before, so that a module of its own shows it.
    const folder = mkdtempSync(`${tmpdir()}/sluice-translate-`);
    try {
      writeFileSync(
        `${folder}/one.wat`,
        `(module (memory (export "memory") 1) (data (i32.const 72) "data")
          (func (export "trap") unreachable)
          (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
          (func (export "fill") (memory.fill (i32.const 80) (i32.const 7) (i32.const 8)))
          (func (export "whole") (param f64)
            ${CONVERSIONS.map(([to, from, sign], i) => {
              const value = from === 'f64' ? '(local.get 0)' : '(f32.demote_f64 (local.get 0))';
              return `(${to}.store (i32.const ${8 * i}) (${to}.trunc_sat_${from}_${sign} ${value}))`;
            }).join('\n')}))`,
      );
      const wasm = `${folder}/one.wasm`;
      node(['node_modules/binaryen/bin/wasm-as', '--all-features', `${folder}/one.wat`, '-o', wasm]);
      const code = await translate(wasm, (bytes: Uint8Array) => `new Uint8Array([${bytes.join()}])`);
      writeFileSync(`${folder}/one.mjs`, code);
      const { instantiate } = await import(`${folder}/one.mjs`);
      type One = {
        memory: { buffer: ArrayBuffer };
        grow(pages: number): number;
        trap(): void;
        fill(): void;
        whole(n: number): void;
      };
      const both = [new WebAssembly.Instance(new WebAssembly.Module(readFileSync(wasm))), instantiate()].map(
        ({ exports }) => exports as One,
      );
      const edges = [0, 2 ** 31, 2 ** 32, 2 ** 63, 2 ** 64].flatMap((edge) =>
        [-1, -0.5, -(2 ** -53) * edge, 0, 2 ** -53 * edge, 0.5, 1].map((step) => edge + step),
      );
      for (const number of [...EXTREME, ...edges, ...edges.map((edge) => -edge), 1.9]) {
        const [ours, theirs] = both.map((one) => {
          one.whole(number);
          return [...new BigInt64Array(one.memory.buffer, 0, CONVERSIONS.length)];
        });
        expect([number, theirs]).toEqual([number, ours]);
      }
      for (const one of both) {
        expect(() => one.trap()).toThrow(Error);
        one.fill();
        expect([one.grow(1), one.grow(0), one.memory.buffer.byteLength]).toEqual([1, 2, 2 ** 17]);
      }
      const [ours, theirs] = both.map(({ memory }) => new Uint8Array(memory.buffer)) as [
        Uint8Array,
        Uint8Array,
      ];
      expect(Buffer.compare(theirs, ours)).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('instances share nothing', () => {
    const [one, other] = [translated(), translated()];
    const before = other.memory.slice();
    const plan = encode(readSource(POLICIES[0], readPolicy));
    const handle = one.x.compile(one.put(plan));
    while (one.memory.length < 2 ** 23) one.x.pipeline(handle, 1, 1);
    expect(Buffer.compare(other.memory, before)).toBe(0);
    expect(other.x.compile(other.put(plan))).toBe(handle);
  });

  test('nothing that the entry loads names WebAssembly, or makes code of a text', () => {
    // An address in brackets is read as a part of an URL.
    const names = /WebAssembly|\beval\b|\bFunction\b\s*\(|\bimport\s*\(|\bhttps?:(?!\/\/\[)/g;
    const found = (file: string) => readFileSync(`${root}dist/${file}`, 'utf8').match(names);
    const files = ['core', 'translated', 'entry/js'].map((name) => `${name}.js`);
    const required = ['core', 'translated', 'js'].map((name) => `cjs/${name}.cjs`);
    for (const file of [...files, ...required]) expect(found(file), file).toBeNull();
    // The simulator is a module, which the first call of `simulate` loads.
    expect(found('testing-js.js')).toEqual(['import(', 'WebAssembly', 'WebAssembly']);
    expect(found('cjs/testing-js.cjs')).toEqual(['WebAssembly', 'WebAssembly']);
  });

  test.each(['module', 'commonjs'] as const)('it works where all of that is forbidden, %s', (type) => {
    const code = `
      const clock = testing.virtualClock();
      const limiter = sluice.rateLimiter({ rate: '1/1s', wait: '2s', clock });
      limiter.tryAcquire();
      const waits = limiter.acquire();
      const result = sluice.pipeline([{ retry: { attempts: 2, backoff: { constant: '1s' }, jitter: 'none' } }], { clock, instance: { limit: 2 ** 22 } })
        .execute(({ attempt }) => { if (attempt === 1) throw new Error('no'); return attempt; });
      let problem; try { sluice.rateLimiter('x'); } catch (error) { problem = error; }
      clock.advance(1000).then(async () => console.log(JSON.stringify([
        typeof WebAssembly, await waits, await result, problem instanceof sluice.PolicyError, problem.problems[0].path,
      ])));`;
    expect(bare(type, code)).toEqual(['undefined', { ok: true }, 2, true, 'limit']);
  });

  test('the sample logs are decided there as they are everywhere', () => {
    const samples = ['policy/testdata/samples', 'eval/testdata'].flatMap((folder) =>
      readdirSync(`${root}../${folder}`)
        .filter((name) => name.endsWith('.events.ndjson'))
        .map((name) => `${root}../${folder}/${name.replace('.events.ndjson', '')}`),
    );
    const read = (path: string): string => readFileSync(path, 'utf8');
    const logs = samples.map((name) => [parse(read(`${name}.yaml`)), read(`${name}.events.ndjson`)]);
    const code = `const logs = JSON.parse(readFileSync(0, 'utf8'));
      console.log(JSON.stringify(logs.map(([policy, events]) => testing.evaluate(policy, events))));`;
    const decided = bare('module', code, JSON.stringify(logs)) as object[][];
    const wanted = samples.map((name) =>
      read(`${name}.decisions.ndjson`)
        .trim()
        .split('\n')
        // As in evaluate.test.ts: `state` is text for people, and the last mark is a nanosecond before the end.
        .map((line) => line.replace('2562047h47m16.854775807s', '2562047h47m16.854775806s'))
        .map((line) => ({ ...JSON.parse(line), state: undefined })),
    );
    expect(wanted.length).toBeGreaterThan(5);
    expect(decided).toEqual(wanted.map((lines) => lines.map((line) => JSON.parse(JSON.stringify(line)))));
  });

  test('evaluate sees a memory that has grown', () => {
    const code = `const events = Array.from({ length: 5_000 }, (_, i) => ({ at: '0s', op: 'call', id: i, key: String(i) }));
      const before = sluice.memoryUsage().used;
      const log = testing.evaluate([{ limit: { rate: '1/1h', per: 'key', keys: 50_000 } }], events);
      const limiter = sluice.rateLimiter.keyed('1/1h');
      console.log(JSON.stringify([
        log.filter(({ decision }) => decision === 'admit').length,
        sluice.memoryUsage().used > before + 2 ** 20,
        [limiter.tryAcquire('a').ok, limiter.tryAcquire('a').reason],
      ]));`;
    expect(bare('module', code)).toEqual([5_000, true, [true, 'rate']]);
  });
});
