import { retry as loneRetry } from '@sluice/core/retry';
import { describe, expect, test } from 'vitest';
import {
  type Attempt,
  circuitBreaker,
  hedge,
  pipeline,
  rateLimiter,
  retry,
  timeout,
  wrap,
} from '../src/index.js';
import { virtualClock } from '../src/testing.js';

const about = ({ attempt, lastError, elapsed, deadline }: Attempt) => [
  attempt,
  lastError instanceof Error ? lastError.message : lastError,
  elapsed,
  deadline,
];

describe('what a function knows of its attempt', () => {
  test('the last error, the time since the call began, and when it is cut', async () => {
    const clock = virtualClock(1000);
    const known: unknown[] = [];
    const calls = pipeline(
      [
        { timeout: '5s' },
        { retry: { attempts: 4, backoff: { constant: '100ms' }, jitter: 'none' } },
        { timeout: { after: '300ms', soft: '50ms' } },
        { timeout: { name: 'watches', after: '1ms', shadow: true } },
        { timeout: { name: 'some', after: '2ms', when: { key: 'other' } } },
      ],
      { clock },
    );
    const run = (attempt: Attempt): Promise<string> =>
      new Promise((resolve, reject) => {
        known.push(about(attempt));
        if (attempt.attempt === 1) clock.setTimeout(() => reject(new Error('first')), 50);
        if (attempt.attempt === 3) clock.setTimeout(() => reject(new Error('third')), 10);
        if (attempt.attempt === 4) resolve('done');
      });
    const result = calls.execute(run);
    await clock.advance(2000);
    expect(await result).toBe('done');
    expect(known).toEqual([
      [1, undefined, 0, 1300],
      [2, 'first', 150, 1450],
      [3, 'timeout-2: timed out', 550, 1850],
      [4, 'third', 660, 1960],
    ]);
    known.length = 0;
    const soon = expect(calls.execute(run, { deadline: 200 })).rejects.toThrow('deadline: timed out');
    await clock.advance(2000);
    await soon;
    expect(known).toEqual([
      [1, undefined, 0, 3200],
      [2, 'first', 150, 3200],
    ]);
  });

  test('the marks are those of the core, and a wait below a retry is in the time of an attempt', async () => {
    const clock = virtualClock();
    const calls = pipeline(
      [
        { retry: { attempts: 2, backoff: 'none' } },
        { timeout: '1s' },
        { limit: { rate: '1/900ms', wait: '5s' } },
      ],
      { clock },
    );
    const known: unknown[] = [];
    const cuts: number[] = [];
    await calls.execute(async () => {});
    const result = calls.attempt(({ attempt, elapsed, deadline, signal }) => {
      known.push([attempt, elapsed, deadline]);
      signal.addEventListener('abort', () => cuts.push(clock.now()));
      return new Promise(() => {});
    });
    await clock.advance(5000);
    expect(await result).toMatchObject({ ok: false, step: 'timeout', reason: 'timeout' });
    expect([known, cuts]).toEqual([
      [
        [1, 900, 1000],
        [2, 1800, 2000],
      ],
      [1000, 2000],
    ]);
  });

  test('attempts beside each other', async () => {
    const clock = virtualClock();
    const known: unknown[] = [];
    const calls = pipeline(
      [{ retry: { attempts: 2, backoff: 'none' } }, { hedge: { after: '100ms' } }, { timeout: '1s' }],
      { clock },
    );
    const result = calls.execute((attempt) => {
      known.push(about(attempt));
      return new Promise((resolve, reject) => {
        if (attempt.attempt === 1) clock.setTimeout(() => reject(new Error('slow')), 150);
        if (attempt.attempt === 2) clock.setTimeout(() => reject(new Error('also')), 300);
        if (attempt.attempt === 3) resolve('third');
      });
    });
    await clock.advance(5000);
    expect(await result).toBe('third');
    expect(known).toEqual([
      [1, undefined, 0, 1000],
      [2, undefined, 100, 1100],
      [3, 'also', 400, 1400],
    ]);
  });

  test.each([
    ['of the core', retry],
    ['alone', loneRetry],
  ])('a retry %s', async (_, make) => {
    const clock = virtualClock();
    const known: unknown[] = [];
    const result = make({ attempts: 3, backoff: { constant: '10ms' }, jitter: 'none', clock }).execute(
      (attempt) => {
        known.push(about(attempt));
        if (attempt.attempt < 3) throw new Error(`no ${attempt.attempt}`);
        return 'yes';
      },
    );
    await clock.advance(100);
    expect(await result).toBe('yes');
    expect(known.map((one) => (one as unknown[]).slice(0, 2))).toEqual([
      [1, undefined],
      [2, 'no 1'],
      [3, 'no 2'],
    ]);
  });

  test('of mechanisms alone, and of several around each other', async () => {
    const clock = virtualClock();
    for (const one of [
      rateLimiter({ rate: '9/1s', clock }),
      circuitBreaker({ clock }),
      hedge({ after: '1s', clock }),
    ]) {
      await one.execute((attempt) => expect(about(attempt).slice(0, 2)).toEqual([1, undefined]));
    }
    await timeout({ after: '2s', clock }).execute((a) => expect(about(a)).toEqual([1, undefined, 0, 2000]));
    const known: unknown[] = [];
    const layers = wrap(
      pipeline([{ timeout: '3s' }, { retry: { attempts: 2, backoff: { constant: '1s' }, jitter: 'none' } }], {
        clock,
      }),
      rateLimiter({ rate: '9/1s', clock }),
      timeout({ after: '2500ms', clock }),
    );
    const result = layers.execute((attempt) => {
      known.push(about(attempt));
      if (attempt.attempt === 1) throw new Error('no');
    });
    await clock.advance(2000);
    await result;
    expect(known).toEqual([
      [1, undefined, 0, 2500],
      [2, 'no', 1000, 3000],
    ]);
  });
});
