// The module of this copy of the package: one instance, with views of its memory.

import { ABI, ERROR_BYTES, type Exports, SLOT_BUFFER, SLOT_SIZE, SLOTS_SIZE } from './abi.js';
import { PolicyError, type PolicyErrorCode } from './errors.js';
import type { Alone } from './reader/alone.js';

/** The mechanisms that have an object of their own. */
export type Mechanism = 'limit' | 'breaker' | 'bulkhead' | 'retry';

/** Options of a mechanism that were read. */
export interface Compiled {
  /** The name of the step. */
  readonly name: string;
  /** Whether it only watches. */
  readonly shadow: boolean;
  /** Equal for equal options. */
  readonly id: string;
  /** Makes a maker of cells, or a retry, and returns its handle, which the caller frees. */
  readonly make: () => number;
}

/** How options of a mechanism are read; the default entry and the small ones differ in it. */
export type Compile = (alone: Alone, options: unknown) => Compiled;

/** What the errors of the module mean, by their codes. */
const ERRORS: readonly (readonly [code: PolicyErrorCode, text: string])[] = [
  ['bad-handle', 'found an object that was freed; allowed before dispose()'],
  ['bad-policy', 'found a value that the core refuses; allowed as policy/REFERENCE.md says'],
  ['bad-size', 'found too many objects; allowed fewer, after dispose() or with fewer keys'],
  ['bad-argument', 'found a number that the core refuses; allowed as the comments of the method say'],
  ['bad-bytes', 'found bytes of another kind; allowed what snapshot() returned'],
];

const decoder = new TextDecoder();

/** What the module exports. */
export let x: Exports;
/** Compiles options. */
export let compile: Compile;
let slots: number;
let memoryNow: Int32Array;
let wordsNow: Int32Array;
let floatsNow: Float64Array;

/** Sets the module and how it compiles. Only the first one counts: objects refer to it. */
export function use(instance: WebAssembly.Instance, by: Compile): void {
  if (x) return;
  const exports = instance.exports as unknown as Exports;
  exports._initialize?.();
  if (exports.abi?.() !== ABI) {
    throw new PolicyError('bad-argument', `module: found another ABI; allowed ${ABI}`);
  }
  x = exports;
  compile = by;
  slots = x.slots();
  view();
}

/** Throws when there is no module yet. */
export function ready(): void {
  if (!x) throw new PolicyError('bad-argument', 'module: found none; allowed after init() or initSync()');
}

function view(): void {
  const { buffer } = x.memory;
  memoryNow = new Int32Array(buffer);
  wordsNow = new Int32Array(buffer, slots, SLOTS_SIZE / 4);
  floatsNow = new Float64Array(buffer, slots, SLOTS_SIZE / 8);
}

/** The whole memory as words of 32 bits. */
export function memory(): Int32Array {
  if (memoryNow.length === 0) view();
  return memoryNow;
}

/** The slots as words of 32 bits. Views of a memory that has grown are empty. */
export function words(): Int32Array {
  if (wordsNow.length === 0) view();
  return wordsNow;
}

/** The slots as floats of 64 bits. */
export function floats(): Float64Array {
  if (floatsNow.length === 0) view();
  return floatsNow;
}

/** Throws the module's error where a call returned one. A wrong setting has its name in the buffer. */
export function check(code: number): number {
  if (code >= 0) return code;
  const [kind, message] = ERRORS[-1 - code] ?? ['bad-argument', `found code ${code}; allowed none`];
  const name = decoder.decode(bytes());
  throw new PolicyError(kind, name ? `${name}: ${message}` : message);
}

// What the last call left in the buffer. It is valid until the next call.
function bytes(): Uint8Array {
  const now = words();
  return new Uint8Array(now.buffer, now[SLOT_BUFFER], now[SLOT_SIZE]);
}

function put(src: Uint8Array): number {
  check(x.buffer(src.length));
  const now = words();
  new Uint8Array(now.buffer, now[SLOT_BUFFER], src.length).set(src);
  return src.length;
}

/** Puts bytes into the buffer: a character for each. Returns their number. */
export const putBytes = (bytes: string): number => put(Uint8Array.from(bytes, (c) => c.charCodeAt(0)));

/** The state of a cell in base64, as a call left it in the buffer. */
export function stateText(size: number): string {
  check(size);
  return btoa(Array.from(bytes(), (byte) => String.fromCharCode(byte)).join(''));
}

/** Puts a state in base64 into the buffer and returns its size. */
export function putState(state: string): number {
  try {
    return putBytes(atob(state));
  } catch {
    throw new PolicyError('bad-bytes', 'found no snapshot; allowed what snapshot() returned');
  }
}

/** Whether a restored state was accepted; false where it is not one of this mechanism. */
export const accepted = (code: number): boolean => code !== ERROR_BYTES && check(code) >= 0;

/** How many texts keep what they were compiled to. */
const RECENT = 64;

/** What the texts that were used last were compiled to, so that equal options are compiled once. */
export class Recent<T> {
  private readonly texts = new Map<string, T>();

  constructor(private readonly drop: (value: T) => void) {}

  /** What a text was compiled to, or is compiled to now. It is valid until the next call. */
  take(text: string, make: () => T): T {
    const { texts } = this;
    let value = texts.get(text);
    if (value === undefined) value = make();
    else texts.delete(text);
    texts.set(text, value);
    if (texts.size > RECENT) {
      const [oldest, dropped] = texts.entries().next().value as [string, T];
      texts.delete(oldest);
      this.drop(dropped);
    }
    return value;
  }
}

/** The most bytes that the memory of a module may have: it grows by a quarter, and traps above 256 MiB. */
const MOST = 2 ** 28 / 1.25;
/** How many objects were freed since the memory reached its bound: as many may be made. */
let freed = 0;

/** Whether the memory has room for another object or key. */
export const hasRoom = (): boolean => freed > 0 || x.memory.buffer.byteLength < MOST;

/** Throws where the memory has no room for another object or key: the module would trap. */
export function needRoom(): void {
  if (hasRoom()) {
    if (freed) freed--;
    return;
  }
  throw new PolicyError(
    'bad-size',
    `memory: found ${x.memory.buffer.byteLength >> 20} MiB in use; allowed less, after dispose() or with fewer keys`,
  );
}

/** Frees objects of the module. */
export function release(handles: Set<number>): void {
  for (const handle of handles) {
    x.free(handle);
    if (x.memory.buffer.byteLength >= MOST) freed++;
  }
  handles.clear();
}

const garbage =
  globalThis.FinalizationRegistry &&
  new FinalizationRegistry<Set<number>>((handles) => {
    try {
      release(handles);
    } catch {
      // The module is lost, and no caller is here to get the error.
    }
  });

/** Frees handles when their owner is collected as garbage. */
export const own = (owner: object, handles: Set<number>): void => garbage?.register(owner, handles);
