import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  type Exports,
  OUTPUT_EVENTS,
  OUTPUT_LOG,
  OVER,
  SIMULATE_EVENTS,
  SIMULATE_LOG,
  SLOT_BUFFER,
  SLOT_SIZE,
} from '../src/generated/abi.js';
import { exceeded } from '../src/testing/marks.js';
import type { Scenario } from '../src/testing/scenario.js';
import { ScenarioError, simulate } from '../src/testing/simulate.js';
import { RequirementError, type Simulation } from '../src/testing/simulation.js';

const root = new URL('../../', import.meta.url).pathname;

interface Vector {
  name: string;
  scenario: Scenario;
  client: string;
  result: string;
  lanes: string;
  log: string;
  events: string;
}
const vectors = JSON.parse(readFileSync(`${root}sim/testdata/vectors.json`, 'utf8')) as Vector[];
const sources = readFileSync(`${root}sim/testdata/vectors.json`, 'utf8').split('\n').slice(1, -2);

describe('the module gives the bytes of the native simulator', () => {
  const module = new WebAssembly.Module(readFileSync(`${root}wasm/sim.wasm`));
  test.each(vectors.map((vector, i) => [vector.name, vector, sources[i] as string] as const))(
    '%s',
    (_, vector, source) => {
      const x = new WebAssembly.Instance(module).exports as unknown as Exports;
      x._initialize();
      const memory = (): ArrayBuffer => (x.memory as unknown as { buffer: ArrayBuffer }).buffer;
      const slots = (): Uint32Array => new Uint32Array(memory(), x.slots(), 80);
      const taken = (): Uint8Array =>
        new Uint8Array(memory(), slots()[SLOT_BUFFER], slots()[SLOT_SIZE]).slice();
      // The very text: numbers of 64 bits are more than a number of JavaScript holds.
      const text = source.slice(source.indexOf('"scenario":') + 11, source.lastIndexOf(',"client":'));
      const bytes = new TextEncoder().encode(vector.client + text);
      x.buffer(bytes.length);
      new Uint8Array(memory(), slots()[SLOT_BUFFER]).set(bytes);
      const flags = vector.client ? SIMULATE_LOG | SIMULATE_EVENTS : 0;
      expect(x.simulate(bytes.length, vector.client.length, flags, 0, 0, 0, 2)).toBe(0);
      const [log, events] = [createHash('sha256'), createHash('sha256')];
      for (let part = 0; part !== OVER; ) {
        part = x.run(10_000);
        x.take(OUTPUT_LOG);
        log.update(taken());
        x.take(OUTPUT_EVENTS);
        events.update(taken());
      }
      const digest = (): string => createHash('sha256').update(taken()).digest('hex');
      x.result();
      const result = digest();
      x.lanes();
      expect({ result, lanes: digest(), log: log.digest('hex'), events: events.digest('hex') }).toEqual({
        result: vector.result,
        lanes: vector.lanes,
        log: vector.log,
        events: vector.events,
      });
    },
  );
});

/** A dependency that fails for ten seconds; the breaker is the policy. */
const outage = (breaker: object, more: object = {}): Scenario => ({
  version: 1,
  duration: '60s',
  policies: { vendor: { steps: [{ retry: 3 }, { breaker }] } },
  clients: [{ name: 'web', to: 'vendor', policy: 'vendor', arrivals: { poisson: '50/s' } }],
  services: [
    { name: 'vendor', time: '10ms', servers: 8, faults: [{ at: '20s', for: '10s', fail: '100%' }], ...more },
  ],
});
const quick = outage({ window: { time: '2s' }, minimum: 10, open: '1s' });
const never = outage({ window: { calls: 10000 }, minimum: 10000, open: '1s' });
const slow = outage({ window: { time: '2s' }, minimum: 10, open: '25s' });

/** A burst above the limit of a fixed window at its boundary. */
const limited = (algorithm: 'fixed-window' | 'sliding-log'): Scenario => ({
  version: 1,
  duration: '5s',
  policies: { vendor: { steps: [{ limit: { rate: '10/1s', algorithm } }] } },
  clients: [
    {
      name: 'web',
      to: 'vendor',
      policy: 'vendor',
      arrivals: { constant: '45/s' },
      key: { weights: { a: 9, b: 1 } },
    },
  ],
  services: [{ name: 'vendor', time: '1ms' }],
});
const twice: Scenario = {
  ...limited('fixed-window'),
  clients: [
    {
      name: 'web',
      to: 'vendor',
      policy: 'vendor',
      arrivals: {
        steps: [
          { for: '900ms', constant: '1/s' },
          { for: '200ms', constant: '100/s' },
        ],
      },
    },
  ],
};

/** Requests whose callers give up. */
const waste = (abandon: boolean): Scenario => ({
  version: 1,
  duration: '20s',
  policies: { vendor: { steps: [{ timeout: '50ms' }] } },
  clients: [{ name: 'web', to: 'vendor', policy: 'vendor', arrivals: { poisson: '60/s' } }],
  services: [{ name: 'vendor', time: { exponential: '20ms' }, abandon }],
});

/** An overload that retries keep up. */
const storm = (budget: 'none' | '10%'): Scenario => ({
  version: 1,
  duration: '120s',
  policies: {
    vendor: {
      steps: [{ retry: { attempts: 5, backoff: 'none', jitter: 'none', budget } }, { timeout: '200ms' }],
    },
  },
  clients: [{ name: 'web', to: 'vendor', policy: 'vendor', arrivals: { poisson: '70/s' } }],
  services: [{ name: 'vendor', time: { exponential: '10ms' }, faults: [{ at: '30s', for: '10s', slow: 5 }] }],
});

describe('each requirement holds for one policy and fails for another', () => {
  type Case = [
    name: string,
    require: (runs: Simulation) => unknown,
    good: Scenario,
    bad: Scenario,
    found: RegExp,
  ];
  test.each<Case>([
    [
      'requireSteady',
      (r) => r.requireSteady(),
      limited('sliding-log'),
      quick,
      /^client web: the verdict recovered$/,
    ],
    [
      'requireNotMetastable',
      (r) => r.requireNotMetastable(),
      storm('10%'),
      storm('none'),
      /^client web: the verdict metastable$/,
    ],
    [
      'requireRecovers',
      (r) => r.requireRecovers('6s'),
      quick,
      slow,
      /^client web: (recovery after|no recovery)/,
    ],
    ['requireGoodput', (r) => r.requireGoodput(0.8), quick, slow, /^client web: [\d.]+% of \d+ calls$/],
    [
      'requireMaxAmplification',
      (r) => r.requireMaxAmplification(1.3),
      quick,
      never,
      /^client web: 1\.\d+ attempts a call$/,
    ],
    [
      'requireMaxLatency',
      (r) => r.requireMaxLatency(99, '100ms'),
      limited('sliding-log'),
      storm('none'),
      /^client web: [\d.]+ms$/,
    ],
    [
      'requireFair',
      (r) => r.requireFair(0.9),
      quick,
      limited('fixed-window'),
      /^client web: a fairness of 0\.\d+$/,
    ],
    [
      'requireNoRefusals',
      (r) => r.requireNoRefusals('breaker'),
      limited('fixed-window'),
      quick,
      /^client web: \d+ refusals by breaker:open$/,
    ],
    [
      'requireOpensWithin',
      (r) => r.requireOpensWithin('2s'),
      quick,
      never,
      /^client web: breaker does not open in 40s$/,
    ],
    [
      'requireOpensWithinCalls',
      (r) => r.requireOpensWithinCalls(60),
      quick,
      never,
      /^client web: breaker does not open in \d+ calls$/,
    ],
    [
      'requireStaysClosed',
      (r) => r.requireStaysClosed(),
      never,
      quick,
      /^client web: breaker open after 2\d\.\d+s$/,
    ],
    [
      'requireNeverExceeds',
      (r) => r.requireNeverExceeds(10, '1s'),
      limited('sliding-log'),
      twice,
      /^service vendor: 19 from [\d.]+m?s on$/,
    ],
    [
      'requireMaxWaste',
      (r) => r.requireMaxWaste(0.05),
      waste(true),
      waste(false),
      /^service vendor: [\d.]+% of \d+ requests$/,
    ],
    [
      'requireThat',
      (r) => r.requireThat('few refusals', ({ clients }) => (clients.web?.refused ? 'many' : undefined)),
      waste(true),
      quick,
      /^many$/,
    ],
  ])('%s', async (_, require, good, bad, found) => {
    const runs = await simulate(good);
    expect(require(runs)).toBe(runs);
    const error = await simulate(bad, { seed: 7 })
      .then(require)
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(RequirementError);
    expect((error as RequirementError).found).toMatch(found);
    expect((error as Error).message).toContain(
      'Run it again: simulate(scenario, { seed: 7 }), or sluice simulate --seed 7',
    );
  });
});

test('each of the seeds is required, and may have 64 bits', async () => {
  const seeds = [1, 2n ** 63n];
  const runs = await simulate(quick, { seeds });
  expect(runs.results.map(({ seed }) => seed)).toEqual(seeds.map(Number));
  expect(runs.result).toBe(runs.results[0]);
  const last = runs.results[1];
  let error: unknown;
  try {
    runs.requireThat('the first', (result) => (result === last ? 'the second' : undefined));
  } catch (e) {
    error = e;
  }
  expect(error).toMatchObject({ required: 'the first', found: 'the second', seed: 2n ** 63n });
  expect(await simulate(quick, { seed: 2n ** 63n })).toMatchObject({ result: last });
});

test('one client or service is selected', async () => {
  const both: Scenario = {
    ...quick,
    clients: [...quick.clients, { name: 'batch', to: 'other', arrivals: { constant: '5/s' } }],
    services: [...quick.services, { name: 'other', time: '1ms' }],
  };
  const runs = await simulate(both);
  runs.client('batch').requireSteady().service('other').requireNeverExceeds(5, '1s');
  expect(() => runs.requireSteady()).toThrow('client web');
  expect(() => runs.service('other').requireNeverExceeds(4, '1s')).toThrow('service other: 5 from 0s on');
  expect(() => runs.client('batch').service('vendor').requireNeverExceeds(0, '1s')).not.toThrow();
  expect(() => runs.client('batch').requireRecovers('1s')).toThrow('no fault to recover from');
  expect(() => runs.client('batch').requireOpensWithin('1s')).toThrow('no breaker');
  expect(() => runs.client('missing')).toThrow('client: found missing; allowed: web, batch');
  expect(() => runs.service('toString')).toThrow('allowed: vendor, other');
});

test('what is no scenario and no argument is refused', async () => {
  const wrong = { ...quick, duration: '1x' } as unknown as Scenario;
  await expect(simulate(wrong)).rejects.toThrow(ScenarioError);
  await expect(simulate(wrong)).rejects.toThrow(/^scenario:1:\d+: duration: found the text "1x"; allowed/);
  await expect(simulate('{')).rejects.toThrow(ScenarioError);
  await expect(simulate(quick, { seeds: [] })).rejects.toThrow('seeds: found none');
  const runs = await simulate(waste(true));
  expect(() => runs.requireMaxLatency(0, '1s')).toThrow(TypeError);
  expect(() => runs.requireNeverExceeds(-1, '1s')).toThrow(TypeError);
  expect(() => runs.requireRecovers('soon' as '1s')).toThrow(
    'within: found soon; allowed: a duration as in 30s',
  );
});

test('a window is from its begin to before its end', () => {
  const marks = [0n, 5n, 10n, 10n, 19n];
  expect(exceeded(marks, 2, 10n)).toEqual({ from: 5n, found: 3 });
  expect(exceeded(marks, 1, 5n)).toEqual({ from: 10n, found: 2 });
  expect(exceeded(marks, 3, 10n)).toBeUndefined();
  expect(exceeded(marks, 0, 1n)).toEqual({ from: 0n, found: 1 });
  expect(exceeded([], 0, 1n)).toBeUndefined();
});
