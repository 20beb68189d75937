import { beforeEach, describe, expect, test } from 'vitest';
import { pipeline, policy, rateLimiter } from '../src/entry/inline.js';
import { evaluate, type VirtualClock, virtualClock } from '../src/testing.js';

const HOUR = 3_600_000;
const BERLIN = 'CET-1CEST,M3.5.0,M10.5.0/3';

/** A virtual clock whose 0 is a wall time. */
function clockAt(date: string, start = 0): VirtualClock {
  const clock = virtualClock(start);
  const began = Date.parse(date) - start;
  return { ...clock, wall: () => began + clock.now() };
}

describe('a limit by the calendar', () => {
  let clock: VirtualClock;
  beforeEach(() => {
    clock = clockAt('2027-03-27T21:30:00Z', 5);
  });

  const limits = {
    alone: () => rateLimiter({ rate: '2/day', zone: BERLIN, clock }),
    'in a pipeline': () => {
      const made = pipeline([{ limit: { rate: '2/day', zone: BERLIN } }], { clock });
      return { tryAcquire: () => made.tryAcquire() };
    },
    'of a document': () => {
      const document = {
        version: 1,
        policies: { a: { steps: [{ limit: { rate: '2/day', zone: BERLIN } }] } },
      };
      const made = policy(JSON.stringify(document), { clock });
      return { tryAcquire: () => made.tryAcquire() };
    },
  };
  for (const [name, make] of Object.entries(limits)) {
    test(`${name} ends with the day of its zone`, async () => {
      const limit = make();
      const ask = () => limit.tryAcquire() as { ok: boolean; retryAfter?: number };
      expect([ask().ok, ask().ok]).toEqual([true, true]);
      // 22:30 in Berlin.
      expect(ask()).toMatchObject({ ok: false, reason: 'rate', retryAfter: HOUR * 1.5 });
      await clock.advance(HOUR * 1.5);
      // The day of the change has 23 hours.
      expect([ask().ok, ask().ok]).toEqual([true, true]);
      expect(ask()).toMatchObject({ retryAfter: HOUR * 23 });
    });
  }

  test('of each key', () => {
    const limit = rateLimiter.keyed({ rate: '1/day', zone: '+05:30', clock });
    expect(limit.tryAcquire('a').ok).toBe(true);
    expect(limit.tryAcquire('b').ok).toBe(true);
    // 03:00 there.
    expect(limit.tryAcquire('a')).toMatchObject({ ok: false, retryAfter: HOUR * 21 });
  });

  test('of each class', () => {
    const made = pipeline(
      [
        {
          limit: {
            rate: '1/day',
            class: 'header:plan',
            rates: { pro: '1/month', free: '1/h' },
            algorithm: 'fixed-window',
          },
        },
      ],
      { clock },
    );
    const waits = (plan?: string) => {
      const call = () => made.tryAcquire({ attributes: plan ? { 'header:plan': plan } : {} });
      call();
      return (call() as { retryAfter: number }).retryAfter / HOUR;
    };
    expect([waits(), waits('pro'), waits('free')]).toEqual([2.5, 4 * 24 + 2.5, 1]);
  });

  test('has a quota with the length of its unit', () => {
    const limit = rateLimiter({ rate: '10/week', clock });
    expect(limit.quota()).toMatchObject({ limit: 10, remaining: 10, rate: [10, 7 * 24 * HOUR] });
    limit.tryAcquire();
    // A Saturday: the week ends with the Sunday.
    expect(limit.quota()).toMatchObject({ remaining: 9, reset: 26.5 * HOUR });
  });
});

test('two clocks of one policy have days of their own', () => {
  const early = clockAt('2027-01-01T01:00:00Z');
  const late = clockAt('2027-01-01T23:00:00Z');
  const after = [early, late].map((clock) => {
    const limit = pipeline([{ limit: '1/day' }], { clock });
    limit.tryAcquire();
    return (limit.tryAcquire() as { retryAfter: number }).retryAfter / HOUR;
  });
  expect(after).toEqual([23, 1]);
});

test('a clock without wall time has that of the runtime', () => {
  const { wall: _, ...clock } = virtualClock();
  const limit = rateLimiter({ rate: '1/month', clock });
  limit.tryAcquire();
  const { retryAfter } = limit.tryAcquire() as { retryAfter: number };
  const now = new Date();
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  expect(Math.abs(end - now.getTime() - retryAfter)).toBeLessThan(60_000);
});

test('evaluate counts from 1970', async () => {
  const events = [0, 1, 2].map((id) => ({ at: '20h', op: 'call' as const, id }));
  const decisions = await evaluate({ steps: [{ limit: { rate: '2/day', zone: '+02:00' } }] }, events);
  expect(decisions.map(({ decision, retry_after }) => [decision, retry_after])).toEqual([
    ['admit', undefined],
    ['admit', undefined],
    ['reject', '2h0m0s'],
  ]);
});

describe('mistakes', () => {
  const cases: [options: object, path: string, found: RegExp][] = [
    [
      { rate: '1/day', zone: 'Europe/Berlin' },
      'limit.zone',
      /the text "Europe\/Berlin"; allowed UTC, an offset/,
    ],
    [{ rate: '1/m', zone: 'UTC' }, 'limit.zone', /zone beside a rate by a duration/],
    [
      { rate: '1/day', algorithm: 'token-bucket' },
      'limit.rate',
      /by a duration as in 1000\/24h beside token-bucket/,
    ],
    [{ rate: '0/day' }, 'limit.rate', /the count from 1 to/],
    [{ rate: '1/day', burst: 2 }, 'limit.burst', /beside fixed-window/],
    [{ rate: '1/hour' }, 'limit.rate', /did you mean 1\/h/],
  ];
  for (const [options, path, found] of cases) {
    test(JSON.stringify(options), () => {
      for (const make of [
        () => rateLimiter(options as never),
        () => pipeline([{ limit: options as never }]),
      ]) {
        expect(make).toThrow(found);
        expect(make).toThrow(path);
      }
    });
  }
});
