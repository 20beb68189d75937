import { SLOT_CONFIG } from '../abi.js';
import { check, floats } from '../engine.js';
import { PolicyError } from '../errors.js';

/** Numbers of a configuration, in the order of ABI.md. */
export type Numbers = readonly number[];

/** Reads a value of an option and returns its number; `undefined` where it is none. */
export type Read = (value: unknown) => number | undefined;

/** Milliseconds of each unit. */
const UNITS: { readonly [unit: string]: number } = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1e3,
  m: 6e4,
  h: 36e5,
  d: 864e5,
};

const DURATION = /^((\d+(\.\d+)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d))+$/;

/** A duration in milliseconds. `0s` is 0. */
export const anyDuration: Read = (value) => {
  if (typeof value !== 'string' || !DURATION.test(value)) return undefined;
  let sum = 0;
  for (const [, count, unit] of value.matchAll(/([\d.]+)([^\d.]+)/g)) {
    sum += Number(count) * (UNITS[unit as string] as number);
  }
  return sum;
};

/** A duration of more than 0 in milliseconds. */
export const duration: Read = (value) => anyDuration(value) || undefined;

/** A share in millionths, more than none and at most all. */
export const share: Read = (value) => {
  const [, digits] = /^((?:0|[1-9]\d*)(?:\.\d{1,4})?)%$/.exec(String(value)) ?? [];
  const millionths = Math.round(Number(digits) * 1e4);
  return millionths > 0 && millionths <= 1e6 ? millionths : undefined;
};

/** A whole number in a range. */
export const whole =
  (least: number, most: number): Read =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? (value as number)
      : undefined;

/** One of some words: its place among them. */
export const word =
  (...words: readonly string[]): Read =>
  (value) => {
    const place = words.indexOf(value as string);
    return place < 0 ? undefined : place;
  };

/** What allowed values look like, for errors. */
export const LIKE = {
  duration: 'a duration: numbers, each with its unit (ns, us, ms, s, m, h, d), as in 30s or 1m30s',
  share: 'a share as in 50% or 0.5%',
  rate: 'a rate COUNT/DURATION as in 50/1m, 50/m or 1000/1h, the duration with its unit (ns, us, ms, s, m, h, d)',
};

/** Throws what is wrong with an option. */
export function wrong(path: string, found: unknown, allowed: string): never {
  const what = found === undefined ? 'nothing' : (JSON.stringify(found) ?? typeof found);
  throw new PolicyError('bad-policy', `${path}: found ${what}; allowed ${allowed}`);
}

/** Reads options. A name that no reader asks for is an error. */
export class Fields {
  private readonly values: Map<string, unknown>;

  /** `common` names what others read. */
  constructor(
    private readonly path: string,
    options: unknown,
    names: readonly string[],
  ) {
    if (typeof options !== 'object' || options === null || Array.isArray(options)) {
      wrong(path, options, `an object with ${names.join(', ')}`);
    }
    this.values = new Map(Object.entries(options).filter(([, value]) => value !== undefined));
    for (const name of this.values.keys()) {
      if (!names.includes(name)) wrong(path, `the unknown name "${name}"`, names.join(', '));
    }
  }

  /** The value of a name, undefined where it is not given. */
  get(name: string): unknown {
    return this.values.get(name);
  }

  /** The number of an option, or the default where it is not given. Without a default it is required. */
  read(name: string, read: Read, allowed: string, fallback?: number): number {
    const value = this.values.get(name);
    if (value === undefined && fallback !== undefined) return fallback;
    return read(value) ?? wrong(`${this.path}.${name}`, value, allowed);
  }
}

/** Makes a maker of a configuration in numbers. */
export function configure(numbers: Numbers, make: () => number): number {
  floats().set(numbers, SLOT_CONFIG);
  return check(make());
}
