import type { ReadPolicy } from './policy.js';
import type { Step } from './step.js';

/** The version of plan bytes. */
const VERSION = 1;

/** A number or a duration: 7 bits a byte, the lowest first. */
function number(value: number | bigint): string {
  if (value < 128) return String.fromCharCode(Number(value));
  let text = '';
  let left = BigInt(value);
  for (; left > 127; left >>= 7n) text += String.fromCharCode(Number(left & 127n) | 128);
  return text + String.fromCharCode(Number(left));
}

const text = (bytes: string): string => number(bytes.length) + bytes;

/** The bytes of a step: its mechanism, flags, name, keys, shared mechanism and values. */
function step({ kind, name, shadow, per, keys, whenFull, missing, values, shares }: Step): string {
  const flags = Number(shadow) | (whenFull << 1) | (missing << 2) | (shares ? 16 : 0);
  return (
    number(kind) +
    number(flags) +
    text(name) +
    number(per.length) +
    per.map(text).join('') +
    number(keys) +
    (shares && text(shares)) +
    values.map((value) => (typeof value === 'string' ? text(value) : number(value))).join('')
  );
}

/** A plan as the core takes it, a character for each byte. */
export const encode = ({ steps, fallback }: ReadPolicy): string =>
  number(VERSION) + number(Number(fallback)) + number(steps.length) + steps.map(step).join('');
