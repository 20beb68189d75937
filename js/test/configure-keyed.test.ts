// What `configure` keeps and refuses: keyed mechanisms, and a retry whose calls run.

import { describe, expect, test, vi } from 'vitest';
import { bulkhead, circuitBreaker, PolicyError, retry } from '../src/index.js';
import { virtualClock } from '../src/testing.js';

// Beside the main entry in one process: its module of the core is another.
vi.resetModules();
const { retry: loneRetry } = await import('../src/entry/retry.js');

const fail = () => Promise.reject(new Error('no'));

describe('keyed mechanisms', () => {
  test('a bulkhead in shadow stays there', () => {
    const places = bulkhead.keyed({ concurrent: 1, shadow: true });
    places.configure({ concurrent: 1 });
    expect([places.tryAcquire('a').ok, places.tryAcquire('a').ok]).toEqual([true, true]);
    const enforced = bulkhead.keyed({ concurrent: 1 });
    enforced.configure(1);
    expect([enforced.tryAcquire('a').ok, enforced.tryAcquire('a').ok]).toEqual([true, false]);
  });

  test('a circuit breaker in shadow stays there', async () => {
    const breakers = circuitBreaker.keyed({ window: { consecutive: 1 }, shadow: true });
    breakers.configure({ window: { consecutive: 1 } });
    await breakers.execute(fail, { key: 'a' }).catch(() => {});
    expect(await breakers.attempt(() => 1, { key: 'a' })).toEqual({ ok: true, value: 1 });
  });

  test.each([{ keys: 1 }, { per: 'ip' }, { when_full: 'share' }])('%o is refused', (more) => {
    const [name] = Object.keys(more);
    const error = (mechanism: string) =>
      new PolicyError(
        'bad-policy',
        `${mechanism}.${name}: found ${name} on a mechanism alone; allowed ${name} in a pipeline`,
      );
    const places = bulkhead.keyed(1);
    expect(() => places.configure({ concurrent: 2, ...more } as never)).toThrow(error('bulkhead'));
    expect(places.counts('a').free).toBe(1);
    expect(() => circuitBreaker.keyed().configure(more as never)).toThrow(error('breaker'));
  });

  test('other settings that are not theirs are refused', () => {
    expect(() => bulkhead.keyed(1).configure({ concurrent: 1, cost: 'header:x' } as never)).toThrow(
      'bulkhead.cost: found cost on a mechanism alone',
    );
    expect(() => circuitBreaker.keyed().configure({ shadow: true })).toThrow('configure: found "shadow"');
    expect(() => circuitBreaker.keyed().configure(3 as never)).toThrow(PolicyError);
  });
});

describe.each([
  ['retry', retry],
  ['@sluice/core/retry', loneRetry],
] as const)('a running call of %s keeps its settings', (_, make) => {
  const second = { backoff: { constant: '1s' }, jitter: 'none' } as const;

  test.each([
    ['fewer attempts', { attempts: 1 }],
    ['a new bound', { attempts: 5, ...second, max_elapsed: '2s' }],
  ] as const)('%s', async (_, settings) => {
    const clock = virtualClock();
    const retries = make({ attempts: 5, ...second, clock });
    const ends: unknown[] = [];
    let attempts = 0;
    const end = retries
      .execute(() => {
        attempts++;
        return fail();
      })
      .catch(() => {});
    await clock.advance(500);
    retries.configure(settings);
    retries.on('end', ({ reason }) => ends.push(reason));
    await clock.advance(10_000);
    await end;
    expect([attempts, ends]).toEqual([5, ['attempts']]);
  });

  test('its bound', async () => {
    const clock = virtualClock();
    const retries = make({ attempts: 9, ...second, max_elapsed: '2500ms', clock });
    const attempts: number[] = [];
    const run = () =>
      retries
        .execute(() => {
          attempts.push(clock.now());
          return fail();
        })
        .catch(() => {});
    void run();
    await clock.advance(500);
    retries.configure({ attempts: 9, ...second });
    await clock.advance(20_000);
    expect(attempts).toEqual([0, 1000, 2000]);
    retries.configure({ attempts: 9, ...second, max_elapsed: '1500ms' });
    attempts.length = 0;
    void run();
    await clock.advance(20_000);
    expect(attempts).toHaveLength(2);
  });

  test('where many others were made since', async () => {
    const clock = virtualClock();
    const retries = make({
      attempts: 5,
      backoff: { decorrelated: '1s', max: '9s' },
      max_elapsed: '1h',
      clock,
    });
    let attempts = 0;
    const end = retries
      .execute(() => {
        attempts++;
        for (let i = 1; i <= 100; i++) make({ attempts: i });
        return fail();
      })
      .catch(() => {});
    await clock.advance(1e6);
    await end;
    expect(attempts).toBe(5);
  });
});
