import { describe, expect, test } from 'vitest';
import { systemClock } from '../src/base/clock.js';
import { compileTokenBucket } from '../src/engine/token-bucket.js';
import {
  type PolicyDocument,
  type PolicyError,
  type Problem,
  pipeline,
  policy,
  rateLimiter,
  retry,
} from '../src/index.js';
import { breakerAlone, limitAlone, retryAlone } from '../src/reader/alone.js';
import { valuesOf } from '../src/reader/encode.js';
import { readAlone } from '../src/reader/read.js';

// js/reader_test.go compares the reader with that in Go. Here is what only values of a program have.

/** The error of a call. */
function errorOf(call: () => unknown): PolicyError {
  try {
    call();
  } catch (error) {
    return error as PolicyError;
  }
  throw new Error('no error');
}

const problemsOf = (call: () => unknown): readonly Problem[] => errorOf(call).problems;
const messageOf = (call: () => unknown): string => errorOf(call).message;
const any = (value: unknown): never => value as never;

describe('values that JSON does not have', () => {
  test.each([
    ['a function', () => 1, 'a function'],
    ['a symbol', Symbol('x'), 'Symbol(x)'],
    ['a BigInt', 5n, '5'],
    ['NaN', Number.NaN, 'NaN'],
    ['Infinity', Number.POSITIVE_INFINITY, 'Infinity'],
  ])('%s is an error where it is', (_, value, found) => {
    expect(messageOf(() => pipeline(any([{ retry: 3 }, { limit: { rate: value } }])))).toBe(
      `steps[1].limit.rate: found ${found}; allowed what JSON has`,
    );
  });

  test('what is undefined is not there, and nothing in a list', () => {
    expect(readAlone({ rate: '1/1s', burst: undefined }, limitAlone).values).toEqual(
      readAlone('1/s', limitAlone).values,
    );
    expect(messageOf(() => pipeline(any([undefined])))).toBe(
      'steps[0]: found nothing; allowed a step: a map of one entry, mechanism to settings',
    );
  });

  test('a value in itself is an error, one that is there twice is none', () => {
    const circle: { [name: string]: unknown } = { rate: '1/1s' };
    circle.per = [circle];
    expect(
      problemsOf(() => pipeline(any([{ limit: circle }]))).map(({ path, found }) => [path, found]),
    ).toEqual([['steps[0].limit.per[0]', 'itself']]);
    const delay = { constant: '1s' } as const;
    const twice = pipeline([{ retry: { backoff: delay } }, { breaker: { open: delay } }]);
    expect(twice.policy.steps?.length).toBe(2);
  });

  test('only own properties with names count', () => {
    const options = Object.assign(Object.create({ burst: 'inherited' }), { rate: '1/1s', [Symbol('x')]: 1 });
    expect(rateLimiter(options).tryAcquire().ok).toBe(true);
  });

  test.each([
    ['NUL', 'a\0', 'the character U+0000', 'text without it'],
    ['half of a pair', 'a\ud800', 'half of a surrogate pair', 'a whole pair, a high half first'],
  ])('%s in a text', (_, body, found, allowed) => {
    expect(problemsOf(() => policy({ steps: [{ retry: 3 }], fallback: { body } }))).toMatchObject([
      { path: 'fallback.body', found, allowed },
    ]);
  });

  test('too deep, too large', () => {
    let deep: unknown = '1s';
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(messageOf(() => pipeline(any([{ timeout: deep }])))).toContain('found a value inside 32 others');
    const large = { steps: [{ retry: 3 }], fallback: { body: 'x'.repeat(2 ** 20) } };
    expect(messageOf(() => policy(any(large)))).toBe(
      'found more than 1048576 bytes; allowed at most 1048576 bytes (1 MiB)',
    );
    let wide: unknown = '1s';
    for (let i = 0; i < 30; i++) wide = [wide, wide];
    expect(messageOf(() => pipeline(any([{ timeout: wide }])))).toContain('found more than 1048576 bytes');
  });
});

describe('a document that is text', () => {
  const text = '{"version": 1,\n "policies": {"a": {"steps": [{"limit": "50"}, {"retri": 3}]}}}';
  const problems = [
    { line: 2, column: 41, path: 'policies.a.steps[0].limit', found: 'the text "50"', nearest: undefined },
    {
      line: 2,
      column: 49,
      path: 'policies.a.steps[1].retri',
      found: 'the unknown name "retri"',
      nearest: 'retry',
    },
  ];

  test('says the line and the column of each problem', () => {
    expect(problemsOf(() => policy(text))).toMatchObject(problems);
    expect(problemsOf(() => policy(`\ufeff${text}`))).toMatchObject(problems);
    expect(messageOf(() => policy(text)).split('\n')[1]).toMatch(
      /^policy:2:49: policies\.a\.steps\[1\]\.retri: found .*; did you mean retry\?$/,
    );
  });

  test('may be bytes', () => {
    const bytes = new TextEncoder().encode(text);
    expect(problemsOf(() => policy(bytes))).toMatchObject(problems);
    expect(messageOf(() => policy(Uint8Array.of(0x22, 0xff, 0x22)))).toBe(
      'policy:1:2: found the byte 0xFF; allowed text in UTF-8',
    );
    const good = new TextEncoder().encode('\ufeff{"steps":[{"timeout":"1s"}]}');
    expect(policy(good).policy).toEqual({ steps: [{ timeout: '1s' }] });
  });

  test('may not have halves of surrogate pairs', () => {
    expect(messageOf(() => policy('{"steps": "é\ud800"}'))).toBe(
      'policy:1:13: found half of a surrogate pair; allowed a whole pair, a high half first',
    );
  });
});

describe('the options of a mechanism', () => {
  test('have paths as the caller wrote them, and all problems', () => {
    const paths = (call: () => unknown): string[] => problemsOf(call).map(({ path }) => path);
    expect(paths(() => retry(0))).toEqual(['retry']);
    expect(paths(() => retry(any({ attempts: 0, bakoff: 1, jitter: 'x' })))).toEqual([
      'retry.attempts',
      'retry.bakoff',
      'retry.jitter',
    ]);
    expect(paths(() => rateLimiter(any({ rate: 5, wait: '.5' })))).toEqual(['limit.rate', 'limit.wait']);
  });

  test('have no keys, and entries of their own read what their modules have', () => {
    expect(messageOf(() => rateLimiter(any({ rate: '1/1s', per: 'key' })))).toBe(
      'limit.per: found per on a mechanism alone; allowed per in a pipeline',
    );
    expect(messageOf(() => readAlone({ budget: '20%', refusals: 'wait', methods: 'GET' }, retryAlone))).toBe(
      'retry.budget: found the text "20%"; allowed none, or in @sluice/core\n' +
        'retry.refusals: found the text "wait"; allowed end, or in a step of a policy\n' +
        'retry.methods: found the text "GET"; allowed none, or in @sluice/core',
    );
    expect(readAlone({ budget: 'none' }, retryAlone).values).toEqual(readAlone({}, retryAlone).values);
    const window = { time: '10s', buckets: 5 };
    expect(readAlone({ window, half_open_max: '1s' }, breakerAlone).values).toEqual([
      1,
      10_000_000_000n,
      5,
      100,
      500_000,
      0n,
      0,
      0,
      1,
      60_000_000_000n,
      0,
      0n,
      0,
      0,
      10,
      0,
      1_000_000_000n,
      0,
      0n,
      0n,
      0,
    ]);
    expect(readAlone({ window: { consecutive: 5, forget: '1m' } }, breakerAlone).values).toEqual([
      2,
      5,
      60_000_000_000n,
      0,
      0,
      0n,
      0,
      0,
      1,
      60_000_000_000n,
      0,
      0n,
      0,
      0,
      10,
      0,
      0n,
      0,
      0n,
      0n,
      0,
    ]);
  });
});

describe('whole documents', () => {
  test('policies take steps and settings from elsewhere in their document', () => {
    const document: PolicyDocument = {
      version: 1,
      defaults: { retry: { jitter: 'none' }, limit: { burst: 2, per: 'key' } },
      policies: {
        wide: {
          extends: 'narrow',
          description: 'more',
          remove: 'bulkhead',
          change: [{ limit: '3/1h' }, { limit: { name: 'all', wait: '0s' } }],
          add: [{ before: 'retry', timeout: '1m' }, { timeout: '1s' }],
        },
        narrow: {
          steps: [
            { retry: 2 },
            { limit: '1/1h' },
            { limit: { rate: '9/1h', name: 'all', defaults: false } },
            { bulkhead: 1 },
          ],
          fallback: { status: 500 },
        },
      },
    };
    const steps = [
      { timeout: '1m' },
      { retry: { jitter: 'none', attempts: 2 } },
      { limit: { burst: 2, per: 'key', rate: '3/1h' } },
      { limit: { rate: '9/1h', name: 'all', wait: '0s' } },
      { timeout: '1s' },
    ];
    for (const source of [document, JSON.stringify(document)]) {
      const wide = policy(source, 'wide');
      expect(wide.names).toEqual(['timeout', 'retry', 'limit', 'all', 'timeout-2']);
      expect(wide.policy).toEqual({ description: 'more', fallback: { status: 500 }, steps });
      expect(wide.quotas({ key: 'a' }).map(({ limit, remaining }) => [limit, remaining])).toEqual([
        [2, 2],
        [9, 9],
      ]);
    }
    expect(policy(document, 'narrow').policy.steps?.length).toBe(4);
  });

  test('a policy may have no steps', async () => {
    const passing = policy({ version: 1, policies: { a: { pass: true } } });
    expect(passing.names).toEqual([]);
    expect(await passing.execute(() => 5)).toBe(5);
    expect(passing.quotas()).toEqual([]);
  });
});

test('the values of a limiter alone', () => {
  const bytes = (options: object): string => valuesOf(readAlone(options, limitAlone).values);
  const second = '\x80\x94\xeb\xdc\x03';
  expect(bytes({ rate: '5/s' })).toBe(`\0\x05${second}${'\0'.repeat(9)}`);
  expect(bytes({ rate: '5/s', block: { delays: ['1s', '1s'] } })).toBe(
    `\0\x05${second}${'\0'.repeat(8)}\x40\x01\x01\x06\x02${second}${second}`,
  );
  expect(() => bytes({ rate: '5/s', block: '1m', wait: '1s' })).toThrow('block');
});

test.each([
  ['1/1ns'],
  ['5/s'],
  [{ rate: '300/1m', burst: 1 }],
  [{ rate: '1000000000/1h', burst: 1_000_000_000 }],
  [{ rate: '1/1000h', name: 'slow', shadow: true }],
])('a token bucket has the values of a limiter: %j', (options) => {
  const small = compileTokenBucket(limitAlone, options, systemClock());
  const { name, shadow, values } = readAlone(options, limitAlone);
  expect([small.name, small.shadow, small.id]).toEqual([name, shadow, valuesOf(values)]);
});
