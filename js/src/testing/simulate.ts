import {
  type Exports,
  OUTPUT_MARKS,
  OUTPUT_NAMES,
  OVER,
  SIMULATE_MARKS,
  SIMULATE_SEED,
  SLOT_BUFFER,
  SLOT_SIZE,
  SLOTS_SIZE,
} from '../generated/abi.js';
import { Marks } from './marks.js';
import type { Scenario, SimulationResult } from './scenario.js';
import { type Run, Simulation } from './simulation.js';

/** What `simulate` takes besides the scenario. */
export interface SimulateOptions {
  /** The seed of all random numbers, an unsigned number of 64 bits. Default: the scenario's. */
  seed?: number | bigint;
  /** The scenario runs once with each of these seeds. Default: once. */
  seeds?: Iterable<number | bigint>;
}

/** What is wrong with a scenario: a line for each error. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

type Simulator = Pick<
  Exports,
  'memory' | 'slots' | 'buffer' | 'simulate' | 'run' | 'take' | 'result' | '_initialize'
>;

let compiled: Promise<WebAssembly.Module> | undefined;

/** Compiled once: an instance simulates one scenario. */
function load(): Promise<WebAssembly.Module> {
  compiled ??= import('../simulator.js').then(({ bytes }) => WebAssembly.compile(bytes));
  return compiled;
}

/**
 * Simulates a scenario in virtual time: clients that call services through policies, which the code that decides in
 * production decides. The scenario is an object or its JSON; equal ones with equal seeds give the result that
 * `sluice simulate --json` prints. Throws `ScenarioError` for a document with errors.
 *
 * @example
 * const runs = await simulate({
 *   version: 1,
 *   duration: '2m',
 *   policies: { vendor: { steps: [{ breaker: { window: { time: '10s' }, minimum: 20 } }] } },
 *   clients: [{ name: 'web', to: 'vendor', policy: 'vendor', arrivals: { poisson: '100/s' } }],
 *   services: [{ name: 'vendor', time: '20ms', servers: 8, faults: [{ at: '30s', for: '30s', fail: '100%' }] }],
 * });
 * runs.requireOpensWithin('2s');
 * runs.requireRecovers('10s');
 */
export async function simulate(
  scenario: Scenario | string,
  options: SimulateOptions = {},
): Promise<Simulation> {
  const text = typeof scenario === 'string' ? scenario : JSON.stringify(scenario);
  const seeds = options.seeds ? [...options.seeds] : [options.seed];
  if (!seeds.length) throw new TypeError('seeds: found none; allowed: at least one');
  const module = await load();
  return new Simulation(seeds.map((seed) => runOnce(module, text, seed)));
}

function runOnce(module: WebAssembly.Module, text: string, seed: number | bigint | undefined): Run {
  const x = new WebAssembly.Instance(module).exports as unknown as Simulator;
  x._initialize();
  const slots = (): Uint32Array => new Uint32Array(memoryOf(x), x.slots(), SLOTS_SIZE / 4);
  const taken = (): Uint8Array => {
    const { [SLOT_BUFFER]: at, [SLOT_SIZE]: size } = slots();
    return new Uint8Array(memoryOf(x), at, size);
  };
  const check = (code: number): number => {
    if (code >= 0) return code;
    throw new ScenarioError(new TextDecoder().decode(taken()));
  };
  const bytes = new TextEncoder().encode(text);
  check(x.buffer(bytes.length));
  new Uint8Array(memoryOf(x), slots()[SLOT_BUFFER]).set(bytes);
  const bits = BigInt.asUintN(64, BigInt(seed ?? 0));
  const flags = SIMULATE_MARKS | (seed === undefined ? 0 : SIMULATE_SEED);
  check(x.simulate(bytes.length, 0, flags, Number(bits & 0xffffffffn), Number(bits >> 32n), 0, 0));
  const marks = new Marks();
  for (let part = 0; part < OVER; ) {
    part = check(x.run(EVENTS));
    for (const kind of [OUTPUT_NAMES, OUTPUT_MARKS]) {
      check(x.take(kind));
      marks.add(kind, taken());
    }
  }
  check(x.result());
  const result = JSON.parse(new TextDecoder().decode(taken())) as SimulationResult;
  return { seed: seed ?? result.seed, scenario: JSON.parse(text) as Scenario, result, marks };
}

/** How many events happen between two looks at what is written. */
const EVENTS = 1 << 16;

const memoryOf = (x: Simulator): ArrayBuffer =>
  (x.memory as WebAssembly.Memory & { buffer: ArrayBuffer }).buffer;
