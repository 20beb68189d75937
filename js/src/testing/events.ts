import { nanosecondsOf } from '../base/durations.js';
import type { Outcome } from '../base/types.js';

/** A duration since the start in Go's form, or whole nanoseconds. */
export type Time = string | number | bigint;

/** An event of a log, as in a line that `sluice eval` reads. */
export type Event =
  | {
      at: Time;
      op: 'call';
      id: number | string;
      key?: string;
      cost?: number;
      attributes?: { [attribute: string]: string };
      deadline?: Time;
    }
  | {
      at: Time;
      op: 'done';
      id: number | string;
      attempt?: number;
      outcome: Outcome;
      retry_after?: Time;
      used?: number;
    }
  | { at: Time; op: 'renew'; id: number | string; attempt?: number }
  | { at: Time; op: 'cancel'; id: number | string }
  | { at: Time; op: 'tick' }
  | { at: Time; op: 'configure'; policy: unknown };

/** Which event of a log makes no sense, and why. */
export class EventError extends Error {
  override readonly name = 'EventError';

  constructor(
    /** The line, from 1; of events that are objects, their place among them. */
    readonly line: number,
    message: string,
  ) {
    super(message.replace(/^/gm, `line ${line}: `));
  }
}

/** An event with its numbers. */
export interface ReadEvent {
  readonly at: bigint;
  readonly op: Event['op'];
  readonly id: number | string | undefined;
  readonly key: string;
  readonly cost: number;
  readonly attributes: { readonly [attribute: string]: string };
  readonly deadline: bigint | undefined;
  readonly outcome: Outcome;
  /** 0 for the lowest one that runs. */
  readonly attempt: number;
  readonly retryAfter: bigint | undefined;
  readonly used: number | undefined;
  readonly policy: unknown;
}

const NAMES = [
  'at',
  'op',
  'id',
  'key',
  'cost',
  'attributes',
  'deadline',
  'attempt',
  'outcome',
  'retry_after',
  'used',
  'policy',
];
const OPS = ['call', 'done', 'renew', 'cancel', 'tick', 'configure'];
const OUTCOMES = ['ok', 'fail', 'throttle', 'ignore'];
const DURATIONS = 'a duration such as "1.5s", or whole nanoseconds';
const MAX_U32 = 2 ** 32 - 1;

/** Reads an event. Throws an `Error` that says what is wrong with it. */
export function readEvent(event: unknown): ReadEvent {
  const e = event as { [name: string]: unknown };
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    throw new Error(`found ${JSON.stringify(event)}; allowed: an object`);
  }
  const unknown = Object.keys(e).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`unknown field "${unknown}"`);
  const op = oneOf('op', e.op, OPS) as Event['op'];
  const about = op === 'call' || op === 'done' || op === 'renew' || op === 'cancel';
  const deadline = op === 'call' ? optional('deadline', e.deadline) : undefined;
  if (deadline !== undefined && deadline < 0n) throw wrong('deadline', e.deadline, '0 or more');
  if (op === 'configure' && Object(e.policy) !== e.policy)
    throw wrong('policy', e.policy, 'an object with steps');
  return {
    at: time('at', e.at),
    op,
    id: about ? identity(e.id) : undefined,
    key: text('key', e.key ?? ''),
    cost: costOf(e.cost ?? 1),
    attributes: attributesOf(e.attributes ?? {}),
    deadline,
    outcome: (op === 'done' ? oneOf('outcome', e.outcome, OUTCOMES) : 'ok') as Outcome,
    attempt: op === 'done' || op === 'renew' ? attemptOf(e.attempt) : 0,
    retryAfter: op === 'done' ? optional('retry_after', e.retry_after) : undefined,
    used: op === 'done' && e.used !== undefined && e.used !== null ? costOf(e.used, 'used') : undefined,
    policy: e.policy,
  };
}

const shown = (value: unknown): string =>
  value === undefined ? 'nothing' : typeof value === 'bigint' ? String(value) : JSON.stringify(value);

const wrong = (field: string, found: unknown, allowed: string): Error =>
  new Error(`${field}: ${found === undefined ? 'missing' : `found ${shown(found)}`}; allowed: ${allowed}`);

function time(field: string, value: unknown): bigint {
  const n = nanosecondsOf(value);
  if (n === undefined) throw wrong(field, value, DURATIONS);
  return n;
}

const optional = (field: string, value: unknown): bigint | undefined =>
  value === undefined || value === null ? undefined : time(field, value);

function oneOf(field: string, value: unknown, words: readonly string[]): string {
  if (!words.includes(value as string)) throw wrong(field, value, words.join(', '));
  return value as string;
}

function identity(id: unknown): number | string {
  if (typeof id !== 'number' && typeof id !== 'string') throw wrong('id', id, 'a number or a string');
  return id;
}

function text(field: string, value: unknown): string {
  if (typeof value !== 'string') throw wrong(field, value, 'a string');
  return value;
}

// A cost above every capacity is as good as any other.
function costOf(cost: unknown, field = 'cost'): number {
  if (!Number.isInteger(cost) || (cost as number) < 0) throw wrong(field, cost, 'a whole number, 0 or more');
  return Math.min(cost as number, MAX_U32);
}

// One that no call reaches is as good as any other: it does not run.
function attemptOf(attempt: unknown): number {
  if (attempt === undefined || attempt === null) return 0;
  if (!Number.isInteger(attempt) || (attempt as number) < 1)
    throw wrong('attempt', attempt, 'a whole number, 1 or more');
  return Math.min(attempt as number, MAX_U32);
}

function attributesOf(attributes: unknown): { [attribute: string]: string } {
  if (typeof attributes !== 'object' || attributes === null)
    throw wrong('attributes', attributes, 'an object');
  for (const value of Object.values(attributes)) text('attributes', value);
  return attributes as { [attribute: string]: string };
}
