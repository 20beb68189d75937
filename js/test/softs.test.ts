import { expect, test } from 'vitest';
import { type Decision, pipeline, policy, type Step, timeout } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

/** The soft limits that are told of a call, as its mark, step and attempt. */
async function told(steps: readonly Step[], task: (attempt: number) => Promise<unknown>, key?: string) {
  const clock = virtualClock();
  const calls = pipeline(steps, { clock });
  const lines: unknown[] = [];
  calls.on('timeout', ({ at, step, attempt, soft, key: of }) => {
    if (soft) lines.push([at, step, attempt, ...(of ? [of] : [])]);
  });
  const sleep = (n: number): Promise<void> => new Promise((done) => clock.setTimeout(done, n));
  const over = calls
    .execute(async ({ attempt }) => sleep((await task(attempt)) as number), { key })
    .catch(() => 0);
  await clock.advance(100_000);
  await over;
  expect(clock.timers).toBe(0);
  return lines;
}

const total: Step = { timeout: { after: '60s', soft: '5s', name: 'total' } };
const each: Step = { timeout: { after: '10s', soft: '2s', name: 'each' } };
const twice: Step = { retry: { attempts: 2, backoff: { constant: '1s' }, jitter: 'none' } };

test('a soft limit of the whole call is told once, one of an attempt for each', async () => {
  expect(await told([total, twice, each], async () => 20_000, 'a')).toEqual([
    [2_000, 'each', 1, 'a'],
    [5_000, 'total', 1, 'a'],
    [13_000, 'each', 2, 'a'],
  ]);
  expect(await told([total, twice, each], async () => 1_999)).toEqual([]);
});

test('also while the call waits, from when it passed the timeout', async () => {
  const limit: Step = { limit: { rate: '1/7s', wait: '1m' } };
  const clock = virtualClock();
  const calls = pipeline([total, limit, each], { clock });
  const lines: unknown[] = [];
  calls.on('timeout', ({ at, step }) => lines.push([at, step]));
  const long = (): Promise<void> => new Promise((done) => clock.setTimeout(done, 3_000));
  const over = [calls.execute(() => 0), calls.execute(long)];
  await clock.advance(60_000);
  await Promise.all(over);
  expect(lines).toEqual([
    [5_000, 'total'],
    [9_000, 'each'],
  ]);
});

test('each attempt of a hedge has its own, and one that ended has none', async () => {
  const hedge: Step = { hedge: { after: '1s' } };
  expect(await told([total, hedge, each], async (attempt) => (attempt === 1 ? 4_000 : 30_000))).toEqual([
    [2_000, 'each', 1],
    [3_000, 'each', 2],
  ]);
  expect(await told([hedge, each], async () => 1_500)).toEqual([]);
});

test('a step that does not apply tells nothing, one in shadow does', async () => {
  const at = (more: object): readonly Step[] => [{ timeout: { after: '10s', soft: '2s', ...more } } as Step];
  expect(await told(at({ when: { key: 'b' } }), async () => 3_000, 'a')).toEqual([]);
  expect(await told(at({ when: { key: 'a' } }), async () => 3_000, 'a')).toEqual([
    [2_000, 'timeout', 1, 'a'],
  ]);
  expect(await told(at({ shadow: true }), async () => 3_000)).toEqual([[2_000, 'timeout', 1]]);
  const clock = virtualClock();
  const calls = policy({ allow: { key: 'a' }, steps: at({}) }, { clock });
  const lines: Decision[] = [];
  calls.on('timeout', (decision) => lines.push(decision));
  const over = calls.execute(() => new Promise<void>((done) => clock.setTimeout(done, 3_000)), { key: 'a' });
  await clock.advance(3_000);
  await over;
  expect(lines).toEqual([]);
});

test('a timeout alone has one, and nothing is cut', async () => {
  const clock = virtualClock();
  const alone = timeout({ after: '10s', soft: '2s', clock });
  const all: unknown[] = [];
  alone.on((decision) => all.push(decision));
  const over = alone.execute(
    ({ signal }) => new Promise((done) => clock.setTimeout(() => done(signal.aborted), 3_000)),
  );
  await clock.advance(3_000);
  expect(await over).toBe(false);
  expect(all).toEqual([
    { kind: 'admit', at: 0, attempt: 1 },
    { kind: 'timeout', at: 2_000, step: 'timeout', attempt: 1, soft: true },
    { kind: 'end', at: 3_000, attempt: 1, outcome: 'ok', duration: 3_000 },
  ]);
});
