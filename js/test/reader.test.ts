import { expect, test } from 'vitest';
import { ALGORITHMS } from '../src/abi.js';
import { compileByModule } from '../src/compile.js';
import { check, putText, x } from '../src/engine.js';
import { breaker } from '../src/reader/breaker.js';
import { compileBy, type Reading } from '../src/reader/compile.js';
import { limit } from '../src/reader/limit.js';
import { retry } from '../src/reader/retry.js';

/** What the small entries allow is what the module allows. */
const values = {
  duration: [
    '1s',
    '1m30s',
    '1.5h',
    '1d12h',
    '250ms',
    '1µs',
    '0s',
    '-1s',
    '1',
    '',
    's',
    '1x',
    '1s ',
    5,
    null,
    '10ns',
  ],
  share: ['50%', '0.5%', '100%', '0%', '101%', '50', 0.5, '0.00001%', '05%', '.5%', '12.3456%'],
  count: [1, 0, 10, 100, 1001, 10_000, 10_001, 1.5, '3', -1, null],
  rate: [
    '50/1m',
    '50/m',
    '1/1h',
    '0/1s',
    '50',
    '50/',
    '/1s',
    50,
    '1000000000/1s',
    '1000000001/1s',
    '2/1ns',
    '01/1s',
    '1/1.5s',
    '1.5/1s',
    '10/500ms',
  ],
};
const backoffs = [
  'none',
  {},
  'x',
  { constant: '1s' },
  { constant: '1s', max: '2s' },
  { linear: '1s' },
  { linear: '1s', max: '5s' },
  { exponential: '1s', factor: 3, max: '1m' },
  { exponential: '1s', factor: 0.5 },
  { exponential: '1s', factor: 1.5 },
  { exponential: '1s', factor: '2' },
  { fibonacci: '1s' },
  { fibonacci: '1s', factor: 2 },
  { decorrelated: '1s', max: '9s' },
  { constant: '1s', linear: '1s' },
  { constant: 1 },
  { exponential: '0s' },
];
const jitters = ['none', 'full', 'equal', '20%', '200%', 'half', 5];

function same(mechanism: 'limit' | 'breaker' | 'retry', reading: Reading, options: unknown): void {
  const accepts = (read: () => unknown): string => {
    try {
      read();
      return 'accepted';
    } catch (error) {
      return (error as Error).name === 'PolicyError' ? 'refused' : String(error);
    }
  };
  // A retry without a budget has no cells, so only its body is compiled.
  const module = accepts(() =>
    mechanism === 'retry'
      ? check(x.body(putText(JSON.stringify({ steps: [{ retry: options }] }))))
      : compileByModule(mechanism, options),
  );
  expect(`${JSON.stringify(options)} ${accepts(() => compileBy(reading)(mechanism, options))}`).toBe(
    `${JSON.stringify(options)} ${module}`,
  );
}

test('limit', () => {
  for (const rate of values.rate) {
    same('limit', limit, rate);
    same('limit', limit, { rate });
  }
  for (const wait of values.duration) {
    same('limit', limit, { rate: '1/1s', wait });
    same('limit', limit, { rate: '1/1s', wait, queue: 5, order: 'newest' });
  }
  for (const count of values.count) {
    same('limit', limit, { rate: '1/1s', burst: count });
    same('limit', limit, { rate: '1/1s', wait: '1s', queue: count });
  }
  for (const algorithm of [...ALGORITHMS, 'x', 1]) {
    same('limit', limit, { rate: '1/1s', algorithm });
    same('limit', limit, { rate: '1/1s', algorithm, wait: '1s', queue: 5 });
    for (const rate of values.rate) same('limit', limit, { rate, algorithm });
    for (const count of [9_999, 10_000, 10_001]) same('limit', limit, { rate: `${count}/1s`, algorithm });
    same('limit', limit, { rate: '1/1s', algorithm, burst: 3 });
  }
  for (const other of [
    {},
    { rate: '1/1s', x: 1 },
    { rate: '1/1s', name: 'A' },
    { rate: '1/1s', name: 'deadline' },
    { rate: '1/1s', shadow: 1 },
    { rate: '1/1s', scope: 'shared' },
    { rate: '1/1s', name: 'a-1', shadow: true, scope: 'local' },
    [],
    null,
  ]) {
    same('limit', limit, other);
  }
});

test('breaker', () => {
  for (const count of values.count) {
    for (const window of [
      { calls: count },
      { time: '10s', buckets: count },
      { consecutive: count },
      {},
      5,
      { calls: 5, time: '1s' },
    ])
      same('breaker', breaker, { window });
    same('breaker', breaker, { minimum: count });
    same('breaker', breaker, { probes: count });
    same('breaker', breaker, { window: { calls: 10 }, minimum: count });
    same('breaker', breaker, { window: { time: '10s' }, minimum: count });
  }
  for (const rate of values.share) {
    same('breaker', breaker, { failure_rate: rate });
    same('breaker', breaker, { slow: { over: '1s', rate } });
  }
  for (const time of values.duration) {
    for (const options of [
      { open: time },
      { half_open_max: time },
      { slow: { over: time, rate: '50%' } },
      { window: { time } },
    ])
      same('breaker', breaker, options);
  }
  for (const backoff of backoffs) {
    same('breaker', breaker, { open: backoff });
    for (const jitter of jitters)
      if (typeof backoff === 'object') same('breaker', breaker, { open: { ...backoff, jitter } });
  }
  for (const other of [
    {},
    { slow: {} },
    { window: { consecutive: 3 }, minimum: 3 },
    { window: { consecutive: 3 }, slow: { over: '1s', rate: '5%' } },
  ])
    same('breaker', breaker, other);
});

test('retry', () => {
  for (const attempts of values.count) {
    same('retry', retry, { attempts });
    same('retry', retry, attempts ?? {});
  }
  for (const backoff of backoffs) {
    same('retry', retry, { backoff });
    for (const jitter of jitters) same('retry', retry, { backoff, jitter });
  }
});
