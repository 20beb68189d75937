import type { Case, Condition, Entry, ReadPolicy, Step } from './result.js';

/** The version of plan bytes. */
const VERSION = 1;

/** A number or a duration: 7 bits a byte, the lowest first. */
export function number(value: number | bigint): string {
  if (value < 128) return String.fromCharCode(Number(value));
  let text = '';
  let left = BigInt(value);
  for (; left > 127; left >>= 7n) text += String.fromCharCode(Number(left & 127n) | 128);
  return text + String.fromCharCode(Number(left));
}

const text = (bytes: string): string => number(bytes.length) + bytes;

const list = <T>(items: readonly T[], by: (item: T) => string): string =>
  number(items.length) + items.map(by).join('');

const entry = ({ attribute, values }: Entry): string => text(attribute) + list(values, text);

const cases = ({ all, none }: Case): string => list(all, entry) + list(none, entry);

/** The bytes of a condition, nothing for none. */
const condition = (one: Condition): string => (one.length ? list(one, cases) : '');

/** The bytes of the values of a mechanism. */
export const valuesOf = (values: Step['values']): string =>
  values.map((value) => (typeof value === 'string' ? text(value) : number(value))).join('');

/** The bytes of a step: its mechanism, flags, name, keys, shared mechanism, conditions and values. */
function step(one: Step): string {
  const { kind, name, shadow, per, keys, whenFull, missing, shares, when, enforce, values } = one;
  const flags =
    Number(shadow) |
    (whenFull << 1) |
    // The core has one refusal: the status is of the answer.
    ((missing > 2 ? 1 : missing) << 2) |
    (shares ? 16 : 0) |
    (when.length ? 32 : 0) |
    (enforce.of ? 64 : 0);
  return (
    number(kind) +
    number(flags) +
    text(name) +
    list(per, text) +
    number(keys) +
    (shares && text(shares)) +
    condition(when) +
    (enforce.of ? number(enforce.of) + text(enforce.by) : '') +
    valuesOf(values)
  );
}

/** A plan as the core takes it, a character for each byte. */
export const encode = ({ steps, fallback, allow = [], deny = [] }: ReadPolicy): string =>
  number(VERSION) +
  number(Number(fallback) | (allow.length ? 2 : 0) | (deny.length ? 4 : 0)) +
  number(steps.length) +
  condition(allow) +
  condition(deny) +
  steps.map(step).join('');
