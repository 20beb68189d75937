// The instances of the module of this copy of the package, with views of their memory.

import { wrongArgument } from '../base/checks.js';
import { PolicyError, type PolicyErrorCode } from '../base/errors.js';
import type { Clock, InstanceOption } from '../base/types.js';
import {
  ABI,
  ERROR_BYTES,
  ERROR_MEMORY,
  type Exports,
  SLOT_BUFFER,
  SLOT_SIZE,
  SLOTS_SIZE,
} from '../generated/abi.js';
import type { Alone } from '../reader/alone.js';

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

/** An instance of the module, or of its translation to JavaScript. */
export interface Instance {
  readonly exports: object;
}

/** The memory of a translation. It calls `renew` when it has grown, because views of it do not become empty. */
interface TranslatedMemory {
  onGrow?(renew: () => void): void;
}

/** How options of a mechanism are read; the default entry and the small ones differ in it. */
export type Compile = (alone: Alone, options: unknown, clock: Clock) => Compiled;

/** The memory of an instance of the module, in bytes. */
export interface MemoryUsage {
  /** In use, with what the next collection frees. */
  readonly used: number;
  /** What would pass it is refused by a `PolicyError` with the code `out-of-memory`. */
  readonly limit: number;
}

/** What the errors of the module mean, by their codes. */
const ERRORS: readonly (readonly [code: PolicyErrorCode, text: string])[] = [
  ['bad-handle', 'found an object that was freed; allowed before dispose()'],
  ['bad-policy', 'found a value that the core refuses; allowed as policy/REFERENCE.md says'],
  ['bad-size', 'found too many objects; allowed fewer, after dispose() or with fewer keys'],
  ['bad-argument', 'found a number that the core refuses; allowed as the comments of the method say'],
  ['bad-bytes', 'found bytes of another kind; allowed what snapshot() returned'],
];

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

const decoder = new TextDecoder();

/** An instance of the module. */
export class Engine {
  readonly x: Exports;
  private readonly slots: number;
  private memoryNow!: Int32Array;
  private memoryFloatsNow!: Float64Array;
  private wordsNow!: Int32Array;
  private floatsNow!: Float64Array;

  constructor(instance: Instance) {
    // What a module exports is known when the version of its ABI is.
    this.x = instance.exports as Exports;
    this.x._initialize?.();
    if (this.x.abi?.() !== ABI) {
      throw new PolicyError('bad-argument', `module: found another ABI; allowed ${ABI}`);
    }
    this.slots = this.x.slots();
    this.view();
    (this.x.memory as TranslatedMemory).onGrow?.(() => this.view());
  }

  private view(): void {
    const { buffer } = this.x.memory;
    this.memoryNow = new Int32Array(buffer);
    this.memoryFloatsNow = new Float64Array(buffer);
    this.wordsNow = new Int32Array(buffer, this.slots, SLOTS_SIZE / 4);
    this.floatsNow = new Float64Array(buffer, this.slots, SLOTS_SIZE / 8);
  }

  /** The whole memory as words of 32 bits. */
  memory(): Int32Array {
    if (this.memoryNow.length === 0) this.view();
    return this.memoryNow;
  }

  /** The whole memory as floats of 64 bits. */
  memoryFloats(): Float64Array {
    if (this.memoryFloatsNow.length === 0) this.view();
    return this.memoryFloatsNow;
  }

  /** The slots as words of 32 bits. Views of a memory that has grown are empty. */
  words(): Int32Array {
    if (this.wordsNow.length === 0) this.view();
    return this.wordsNow;
  }

  /** The slots as floats of 64 bits. */
  floats(): Float64Array {
    if (this.floatsNow.length === 0) this.view();
    return this.floatsNow;
  }

  // What the last call left in the buffer. It is valid until the next call.
  private bytes(): Uint8Array {
    const now = this.words();
    return new Uint8Array(now.buffer, now[SLOT_BUFFER], now[SLOT_SIZE]);
  }

  private put(src: Uint8Array): number {
    this.check(this.x.buffer(src.length));
    const now = this.words();
    new Uint8Array(now.buffer, now[SLOT_BUFFER], src.length).set(src);
    return src.length;
  }

  /** Puts bytes into the buffer: a character for each. Returns their number. */
  putBytes(bytes: string): number {
    return this.put(Uint8Array.from(bytes, (c) => c.charCodeAt(0)));
  }

  /** The state of a cell in base64, as a call left it in the buffer. */
  stateText(size: number): string {
    this.check(size);
    return btoa(Array.from(this.bytes(), (byte) => String.fromCharCode(byte)).join(''));
  }

  /** Puts a state in base64 into the buffer and returns its size. */
  putState(state: string): number {
    let bytes: string;
    try {
      bytes = atob(state);
    } catch {
      throw new PolicyError('bad-bytes', 'found no snapshot; allowed what snapshot() returned');
    }
    return this.putBytes(bytes);
  }

  /** Whether a restored state was accepted; false where it is not one of this mechanism. */
  accepted(code: number): boolean {
    return code !== ERROR_BYTES && this.check(code) >= 0;
  }

  /** Throws the module's error where a call returned one. A wrong setting has its name in the buffer. */
  check(code: number): number {
    if (code >= 0) return code;
    if (code === ERROR_MEMORY) {
      const { used, limit } = this.usage;
      throw new PolicyError(
        'out-of-memory',
        `memory: found ${used >> 20} of ${limit >> 20} MiB in use; allowed less, after dispose(), with fewer keys or with a greater limit`,
      );
    }
    const [kind, message] = ERRORS[-1 - code] ?? ['bad-argument', `found code ${code}; allowed none`];
    const name = decoder.decode(this.bytes());
    throw new PolicyError(kind, name ? `${name}: ${message}` : message);
  }

  /** Frees objects of the module. */
  release(handles: Set<number>): void {
    for (const handle of handles) this.x.free(handle);
    handles.clear();
  }

  /** The memory in use, and its limit. */
  get usage(): MemoryUsage {
    return { used: this.x.used(), limit: this.x.limit(0) };
  }
}

/** The engine of all objects that name no other. */
export let shared: Engine;
/** The engine that compiles, the shared one at other times; and what it exports. */
let current: Engine;
export let x: Exports;
let compileNow: Compile;
/** Makes instances of the module. */
let instantiateNow: () => Instance;

/**
 * Sets what makes instances of the module, and how it compiles. `first` is an instance that there is already. Only
 * the first call counts: objects refer to its module.
 */
export function use(instantiate: () => Instance, by: Compile, first?: Instance): void {
  if (shared) return;
  shared = current = new Engine(first ?? instantiate());
  x = shared.x;
  compileNow = by;
  instantiateNow = instantiate;
}

/** Throws when there is no module yet. */
export function ready(): void {
  if (!shared)
    throw new PolicyError('bad-argument', 'module: found none; allowed after init() or initSync()');
}

/** The engine of an option. */
export function engineOf(option: InstanceOption = 'shared'): Engine {
  ready();
  if (option === 'shared') return shared;
  const limit = option === 'own' ? 0 : option?.limit;
  if (option !== 'own' && !isLimit(limit)) wrongArgument('instance', option, ALLOWED);
  const engine = new Engine(instantiateNow());
  // The module of retries alone has no limit: it keeps nothing.
  engine.x.limit?.(limit);
  return engine;
}

const LEAST = 2 ** 22;
const MOST = 2 ** 29;
const ALLOWED = `shared, own, or an object with a limit of ${LEAST} to ${MOST} bytes`;

const isLimit = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= LEAST && (value as number) <= MOST;

/** The memory that all objects share which have no instance of their own. */
export function memoryUsage(): MemoryUsage {
  ready();
  return shared.usage;
}

/**
 * Sets the limit of the memory that all objects share, in bytes: 4 MiB to 512 MiB,
 * 256 MiB at first. Where more is in use already, nothing is freed.
 */
export function limitMemory(bytes: number): void {
  ready();
  if (!isLimit(bytes)) wrongArgument('limit', bytes, `${LEAST} to ${MOST} bytes`);
  shared.x.limit(bytes);
}

/** Runs a function that compiles for an engine. */
export function within<T>(engine: Engine, run: () => T): T {
  const before = current;
  current = engine;
  x = engine.x;
  try {
    return run();
  } finally {
    current = before;
    x = before.x;
  }
}

// What compiles uses the engine that it compiles for.

/** Compiles options. */
export const compile: Compile = (mechanism, options, clock) => compileNow(mechanism, options, clock);

/** `words` of the engine that compiles. */
export const words = (): Int32Array => current.words();

/** `check` of the engine that compiles. */
export const check = (code: number): number => current.check(code);

/** `putBytes` of the engine that compiles. */
export const putBytes = (bytes: string): number => current.putBytes(bytes);

/** Handles and the engine that has them. */
interface Garbage {
  readonly engine: Engine;
  readonly handles: Set<number>;
}

const garbage =
  globalThis.FinalizationRegistry &&
  new FinalizationRegistry<Garbage>(({ engine, handles }) => {
    try {
      engine.release(handles);
    } catch {
      // The module is lost, and no caller is here to get the error.
    }
  });

/** Frees handles when their owner is collected as garbage. */
export const own = (owner: object, engine: Engine, handles: Set<number>): void =>
  garbage?.register(owner, { engine, handles });
