// Runs the simulator. A worker simulates one scenario, or checks one; the page ends it to cancel.

import {
  type Exports,
  OVER,
  SIMULATE_SEED,
  SLOT_BUFFER,
  SLOT_SIZE,
  SLOTS_SIZE,
} from '../../js/src/generated/abi.js';
import type { Answer, Order } from './simulator.js';

/** How many events happen between two reports of progress. */
const EVENTS = 1 << 17;
/** How many samples of decisions the lanes have of each part. */
const SAMPLES = 5;

/** What the simulator says of a document or a run. */
class Refusal extends Error {}

function textOf(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  // A trap: the module has no memory left in the middle of a call.
  if (error instanceof WebAssembly.RuntimeError) return 'the scenario needs more memory than 1 GiB';
  return String(error);
}

const answer = (one: Answer): void => postMessage(one);

addEventListener('message', ({ data }: MessageEvent<Order>) => {
  try {
    simulate(data);
  } catch (error) {
    answer({ kind: 'error', text: textOf(error) });
  }
});

function simulate({ module, json, seed, checks }: Order): void {
  const x = new WebAssembly.Instance(module).exports as unknown as Exports;
  x._initialize();
  const memory = (): ArrayBuffer => (x.memory as WebAssembly.Memory & { buffer: ArrayBuffer }).buffer;
  const slots = (): Uint32Array => new Uint32Array(memory(), x.slots(), SLOTS_SIZE / 4);
  const text = (): string => {
    const { [SLOT_BUFFER]: at, [SLOT_SIZE]: size } = slots();
    return new TextDecoder().decode(new Uint8Array(memory(), at, size));
  };
  const bytes = new TextEncoder().encode(json);
  x.buffer(bytes.length);
  new Uint8Array(memory(), slots()[SLOT_BUFFER]).set(bytes);
  const bits = BigInt.asUintN(64, BigInt(seed ?? 0));
  const flags = seed === undefined ? 0 : SIMULATE_SEED;
  const code = x.simulate(
    bytes.length,
    0,
    flags,
    Number(bits & 0xffffffffn),
    Number(bits >> 32n),
    0,
    SAMPLES,
  );
  if (code < 0) throw new Refusal(text());
  if (checks) {
    answer({ kind: 'checked' });
    return;
  }
  for (let part = 0; part < OVER; ) {
    part = x.run(EVENTS);
    if (part < 0) throw new Refusal(text());
    answer({ kind: 'progress', part: part / OVER });
  }
  x.result();
  const result = text();
  x.lanes();
  answer({ kind: 'result', result, lanes: text() });
}
