import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { durationText, nanosecondsOf } from '../src/base/durations.js';
import { PolicyError } from '../src/index.js';
import { evaluate } from '../src/testing/evaluate.js';
import { EventError } from '../src/testing/events.js';

const root = new URL('../../', import.meta.url).pathname;
const lines = (decisions: unknown[]) => decisions.map((decision) => JSON.stringify(decision));

describe.each(['policy/testdata/samples', 'eval/testdata'])('%s', (folder) => {
  const names = readdirSync(root + folder).filter((name) => name.endsWith('.events.ndjson'));
  test.each(names)('%s', (file) => {
    const name = `${root}${folder}/${file.replace('.events.ndjson', '')}`;
    const expected = readFileSync(`${name}.decisions.ndjson`, 'utf8').trim().split('\n');
    // `state` is text for people, that not every runtime has.
    const wanted = expected
      .map((line) => JSON.stringify({ ...JSON.parse(line), state: undefined }))
      // The ends of the line are no marks of the module: the last one is a nanosecond before.
      .map((line) => line.replace('2562047h47m16.854775807s', '2562047h47m16.854775806s'));
    const events = readFileSync(`${name}.events.ndjson`, 'utf8');
    expect(lines(evaluate(parse(readFileSync(`${name}.yaml`, 'utf8')), events))).toEqual(wanted);
  });
});

test('events that make no sense', () => {
  const steps = [{ limit: '1/1s' }] as const;
  const at = { at: '0s' } as const;
  for (const event of [
    { ...at, op: 'x' },
    { op: 'tick' },
    { at: 'x', op: 'tick' },
    { ...at, op: 'call' },
    { ...at, op: 'tick', x: 1 },
    { ...at, op: 'call', id: {} },
    { ...at, op: 'call', id: 1, cost: -1 },
    { ...at, op: 'call', id: 1, deadline: '-1s' },
    { ...at, op: 'done', id: 1 },
    { ...at, op: 'configure' },
    { ...at, op: 'configure', policy: {} },
    5,
    null,
  ]) {
    expect(() => evaluate(steps, [{ at: '0s', op: 'tick' }, event as never])).toThrow(EventError);
    expect(() => evaluate(steps, [{ at: '0s', op: 'tick' }, event as never])).toThrow(/^line 2: /);
  }
  expect(() => evaluate(steps, '{"at":"0s","op":"tick"}\n\n{')).toThrow(/^line 3: /);
  const call = { at: '0s', op: 'call', id: 1 } as const;
  expect(() => evaluate([{ bulkhead: 1 }], [call, call])).toThrow('line 2: id: a call 1 is not over');
  expect(() => evaluate({ steps: [] }, [])).toThrow(PolicyError);
});

test('durations as Go reads and prints them', () => {
  for (const text of [
    '0s',
    '1ns',
    '1.5µs',
    '999µs',
    '1.000001ms',
    '1.5s',
    '1m0s',
    '1h2m3.5s',
    '-1h0m0s',
    '2562047h47m16.854775807s',
  ]) {
    expect(durationText(nanosecondsOf(text) as bigint)).toBe(text);
  }
  expect(nanosecondsOf('1d12h')).toBe(129_600_000_000_000n);
  expect(nanosecondsOf(5)).toBe(5n);
  for (const wrong of ['', '5', 's', '1x', 1.5, null, '1s1', '2562047h47m16.854775808s'])
    expect(nanosecondsOf(wrong)).toBeUndefined();
});

/** Whether a command is there. */
const has = (command: string, ...args: string[]): boolean => {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** A small generator, so that a failure can be repeated by its seed. */
function generator(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number) => Math.floor(next() * n);
  return {
    below,
    one: <T>(of: readonly T[]): T => of[below(of.length)] as T,
    odds: (n: number) => below(n) === 0,
  };
}

function randomPolicy({ below, one, odds }: ReturnType<typeof generator>) {
  const per = () =>
    odds(3)
      ? {
          per: one(['key', 'host', ['key', 'header:x-a']]),
          ...(odds(3) ? { keys: 1 + below(3) } : {}),
          ...(odds(4) ? { when_full: one(['evict', 'share']) } : {}),
          ...(odds(3) ? { missing: one(['share', 'deny', 'skip']) } : {}),
        }
      : {};
  const hedge = () =>
    steps.push({
      hedge: {
        ...one([
          { after: '300ms' },
          { after: '700ms' },
          { parallel: true },
          {
            after: 'p50',
            samples: 5,
            minimum: 2,
          },
        ]),
        max: 1 + below(3),
        ...one([
          {},
          {},
          { budget: '30%' },
          { budget: { ratio: '50%', minimum: '0/1s' } },
          { budget: 'none' },
        ]),
        ...shadow(),
      },
    });
  const shadow = () => (odds(6) ? { shadow: true } : {});
  const steps: object[] = [];
  if (odds(2)) steps.push({ timeout: { after: one(['3s', '10s']), name: 'all', ...shadow() } });
  if (odds(2))
    steps.push({
      limit: {
        rate: one(['2/1s', '5/3s']),
        ...one([
          { wait: '2s', queue: 3 },
          { wait: '1s', order: 'newest', queue: 2 },
          { algorithm: 'fixed-window' },
          { algorithm: 'sliding-log', wait: '2s' },
          { algorithm: 'leaky-bucket' },
          { algorithm: 'leaky-bucket', wait: '1s', queue: 2 },
          { algorithm: 'sliding-counter', wait: '2s' },
          {},
        ]),
        name: 'outer',
        ...per(),
        ...shadow(),
      },
    });
  if (odds(2))
    steps.push({
      retry: {
        attempts: 1 + below(4),
        backoff: one([
          'none',
          { constant: '500ms' },
          { exponential: '200ms' },
          { decorrelated: '100ms', max: '2s' },
        ]),
        ...(odds(3) ? { budget: one(['20%', { ratio: '50%', minimum: '0/1s' }]) } : {}),
        ...shadow(),
      },
    });
  const early = odds(4);
  if (early) hedge();
  if (odds(2))
    steps.push({
      breaker: {
        window: one([{ calls: 4 }, { consecutive: 2 }, { time: '5s', buckets: 5 }]),
        open: one(['2s', { exponential: '1s', max: '8s' }]),
        probes: 1 + below(2),
        ...(odds(3) ? { half_open_max: '3s' } : {}),
        ...per(),
        ...shadow(),
      },
    });
  if (!early && odds(3)) hedge();
  if (odds(2))
    steps.push({
      limit: { rate: '3/1s', burst: 2, ...(odds(2) ? { wait: '1s' } : {}), ...per(), ...shadow() },
    });
  if (odds(2))
    steps.push({
      bulkhead: {
        concurrent: 1 + below(2),
        ...one([{}, { queue: 2 }, { wait: '1s' }, { lease: '2s' }]),
        ...per(),
        ...shadow(),
      },
    });
  if (odds(4))
    steps.push({
      adaptive: {
        initial: 1 + below(2),
        minimum: 1,
        maximum: 2 + below(3),
        decrease: one(['20%', '50%']),
        over: one(['500ms', '2s']),
        ...per(),
        ...shadow(),
      },
    });
  if (odds(2) || steps.length === 0) steps.push({ timeout: { after: one(['700ms', '2s']), ...shadow() } });
  // `minimum` has no meaning beside `consecutive`.
  for (const step of steps) {
    const { breaker } = step as { breaker?: { window: object; minimum?: number } };
    if (breaker && !('consecutive' in breaker.window)) breaker.minimum = 2;
  }
  return { steps, ...(odds(3) ? { fallback: { status: 503 } } : {}) };
}

function randomEvents(random: ReturnType<typeof generator>, count: number): string {
  const { below, one, odds } = random;
  const live: (number | string)[] = [];
  const events: object[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    at += one([0, 0, 1, 50_000_000, 333_333_333, 1_000_000_000]);
    const time = odds(5) ? `${at}ns` : at;
    const kind = below(20);
    if (kind < 9 || live.length === 0) {
      const id = odds(5) ? `c${i}` : i;
      live.push(id);
      events.push({
        at: time,
        op: 'call',
        id,
        ...(odds(2) ? { key: one(['a', 'b', 'é"']) } : {}),
        ...(odds(6) ? { cost: below(4) } : {}),
        ...(odds(3) ? { attributes: { host: one(['x', 'y']), 'header:X-A': one(['1', '2']) } } : {}),
        ...(odds(8) ? { deadline: one(['1s', '2.5s', 0]) } : {}),
      });
    } else if (kind < 16) {
      const id = odds(10) ? one(live) : (live.splice(below(live.length), 1)[0] as number);
      if (!live.includes(id)) live.push(id);
      events.push({
        at: time,
        op: 'done',
        id,
        ...(odds(2) ? { attempt: 1 + below(4) } : {}),
        outcome: one(['ok', 'ok', 'fail', 'fail', 'throttle', 'ignore']),
        ...(odds(6) ? { retry_after: one(['1.5s', '-1ns', 100_000_000]) } : {}),
      });
    } else if (kind === 16) events.push({ at: time, op: 'cancel', id: one(live) });
    else if (kind === 17)
      events.push({ at: time, op: 'renew', id: one(live), ...(odds(2) ? { attempt: 1 + below(3) } : {}) });
    else if (kind === 18) events.push({ at: time, op: 'tick' });
    else if (odds(3)) events.push({ at: time, op: 'configure', policy: randomPolicy(random) });
  }
  return events.map((event) => JSON.stringify(event)).join('\n');
}

// Building the command may take minutes on a busy machine.
test.skipIf(!has('go', 'version'))(
  'random logs are decided as sluice eval decides them',
  () => {
    const folder = mkdtempSync(`${tmpdir()}/sluice-js-`);
    const sluice = `${folder}/sluice`;
    execFileSync('go', ['build', '-o', sluice, './cmd/sluice'], { cwd: root });
    const rounds = Number(process.env.ROUNDS ?? 60);
    let decided = 0;
    for (let round = 0; round < rounds; round++) {
      const random = generator(Number(process.env.SEED ?? 1) * 1e6 + round);
      const document = randomPolicy(random);
      const events = randomEvents(random, 150);
      const seed = random.below(2 ** 32);
      const file = `${folder}/policy.json`;
      writeFileSync(file, JSON.stringify({ version: 1, policies: { p: document } }));
      let wanted: string[];
      let failed = '';
      try {
        wanted = execFileSync(sluice, ['eval', '--policy', file, '--seed', String(seed)], {
          input: events,
          stdio: 'pipe',
        })
          .toString()
          .trim()
          .split('\n');
      } catch (error) {
        const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer };
        wanted = stdout.toString().trim().split('\n');
        failed = stderr.toString();
      }
      wanted = wanted
        .filter(Boolean)
        .map((line) => JSON.stringify({ ...JSON.parse(line), state: undefined }));
      try {
        const got = lines(evaluate(document as never, events, { seed }));
        expect(failed).toBe('');
        expect(got, `round ${round}`).toEqual(wanted);
        decided += got.length;
      } catch (error) {
        // Both stop at the same line.
        if (!(error instanceof EventError)) throw error;
        expect(failed, `round ${round}: ${error.message}`).toContain(`line ${error.line}:`);
      }
    }
    expect(decided).toBeGreaterThan(rounds * 50);
  },
  600_000,
);
