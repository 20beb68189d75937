/**
 * The numbers of ABI.md, for those who talk to the module. The text of the ABI
 * is in the repository, at `wasm/ABI.md`.
 */

declare global {
  // What declarations name of it, for those who compile without the types of the DOM.
  namespace WebAssembly {
    interface Instance {}
    interface Memory {}
    interface Module {}
  }
}

/** What a module exports. Modules of one mechanism lack the exports marked optional. */
export interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  abi(): number;
  slots(): number;
  buffer(size: number): number;
  free(handle: number): number;

  cell(maker: number, now: number): number;
  acquire(cell: number, cost: number, caller: number, now: number): number;
  step(cell: number, kind: number, outcome: number, cost: number, now: number): number;
  pass(cell: number, now: number): number;
  fresh(cell: number, now: number): number;
  adopt(cell: number, maker: number, now: number): number;
  state(cell: number): number;
  restore(cell: number, size: number, by: number, now: number): number;

  limiter(): number;
  breaker(): number;
  retry(): number;
  next(
    retry: number,
    outcome: number,
    after: number,
    until: number,
    now: number,
    seedLow: number,
    seedHigh: number,
  ): number;

  plan(size: number, nameSize: number): number;
  body(size: number): number;
  describe(plan: number, step: number): number;
  maker(plan: number, step: number): number;
  pipeline(plan: number, seedLow: number, seedHigh: number): number;
  begin(pipeline: number, cost: number, deadline: number, now: number): number;
  done(
    pipeline: number,
    slot: number,
    generation: number,
    outcome: number,
    after: number,
    now: number,
  ): number;
  cancel(pipeline: number, slot: number, generation: number, now: number): number;
  renew(pipeline: number, slot: number, generation: number, now: number): number;
  advance(pipeline: number, now: number): number;
  configure(pipeline: number, plan: number, now: number): number;
  uses(pipeline: number, key: number): number;
  save(pipeline: number, step: number, key: number): number;
  load(pipeline: number, step: number, key: number, size: number, by: number, now: number): number;
}

/** The version of the ABI that this package speaks. */
export const ABI = 1;

// Slots, as indices of 32-bit words.
export const EXACT = 0;
export const SIZE = 1;
export const COUNT = 2;
export const RECORDS = 3;
export const BUFFER = 4;
export const NOW = 6;
export const SPAN = 8;
export const SLOT = 14;
export const GENERATION = 15;
export const REASON = 16;
export const TIMELESS = 17;
export const PERMIT = 20;
export const MODE = 26;
export const ATTEMPT = 27;
export const BEFORE = 28;
export const KEYS = 30;

// Slots, as indices of 64-bit floats.
export const WAKE_MILLIS = 6;
export const MILLIS = 9;
export const CONFIG = 23;

/** How many bytes the slots take. */
export const SLOTS_SIZE = 312;

/** The words of a permit. */
export const PERMIT_WORDS = 6;

// Codes of errors.
export const BAD_BYTES = -5;
export const STALE = -6;

// Verdicts of cells.
export const ADMIT = 2;
export const WAIT = 4;

// Actions on cells.
export const TRY_ACQUIRE = 2;
export const PEEK = 3;
export const CANCEL = 6;
export const RELEASE = 7;
export const RECORD = 8;
export const LEAVE = 9;
export const RENEW = 11;
export const TRANSITION = 15;
export const RESET = 16;

// What a step does to others than its caller.
export const GRANT = 1;
export const DROP = 2;
export const LAPSE = 3;

/** The greatest number of a key. */
export const MAX_KEY = 0xfffff;

// Decisions of pipelines.
export const SHADOW = 1;
export const FALLBACK = 2;
export const LAST = 4;
export const HAS_VALUE = 8;

/** The index of the step of a call's own deadline. */
export const DEADLINE = 254;

// Numbers of outcomes.
export const OK = 1;
export const FAIL = 2;
export const THROTTLE = 3;
export const IGNORE = 4;
export const CANCELLED = 6;

// Numbers of kinds of decisions.
export const ADMITTED = 1;
export const REJECTED = 3;
export const EXPIRED = 4;
export const CUT = 5;
export const RETRIED = 7;
export const ENDED = 8;

/** What stands for no time: the last mark, or no duration. */
export const NONE = NaN;

/** Kinds of decisions, by number. */
export const KINDS = [
  '',
  'admit',
  'wait',
  'reject',
  'expire',
  'timeout',
  'lapse',
  'retry',
  'end',
  'configured',
  'hedge',
  'failed',
  'cancel',
  'drop',
  'change',
] as const;

/** Outcomes, by number. */
export const OUTCOMES = ['', 'ok', 'fail', 'throttle', 'ignore', 'timeout', 'cancel'] as const;

/** Reasons of refusals and of retries that gave up, by number. */
export const REASONS = [
  '',
  'rate',
  'capacity',
  'open',
  'probes',
  'full',
  'wait',
  'shed',
  'attempts',
  'pushback',
  'deadline',
  'budget',
  'fail',
  'throttle',
  'timeout',
] as const;

/** Modes of a breaker, by number. */
export const MODES = ['closed', 'open', 'half-open', 'forced-open', 'forced-closed', 'metrics-only'] as const;
