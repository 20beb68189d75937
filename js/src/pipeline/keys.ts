import { wrongArgument } from '../base/checks.js';
import { networkOf } from '../base/prefixes.js';
import type { Engine } from '../engine/engine.js';
import { KEY_MISSING, MAX_KEY, SLOT_KEYS } from '../generated/abi.js';

/** The attributes of a call. */
export type Attributes =
  | { readonly [attribute: string]: string }
  | ((attribute: string) => string | null | undefined);

/** What has the steps with cells per attributes. */
export interface Keyed {
  readonly keyed: readonly { readonly index: number; readonly per: readonly string[] }[];
}

/** How many numbers a call with a new value checks, for each keyed step, to free those that are not used any more. */
const SWEEP = 2;

/**
 * Numbers for the values of attributes, as long as the pipeline uses them. The
 * `keys` of the pipeline's steps bound how many values it uses.
 */
export class Keys {
  private readonly numbers = new Map([['', 0]]);
  private readonly texts: string[] = [''];
  private readonly spare: number[] = [];
  private hand = 0;

  constructor(
    private readonly engine: Engine,
    private readonly owner: number,
  ) {}

  /** Puts the numbers of a call into the slots. */
  put({ keyed }: Keyed, key: string | undefined, attributes: Attributes | undefined): void {
    let missing = 0;
    const texts = keyed.map(({ per }, i) => {
      const values = valuesOf(per, key, attributes);
      if (values.includes('')) missing |= 1 << i;
      return join(per, values);
    });
    // Until the call has begun, the module does not use its numbers: none may be freed in between.
    if (!texts.every((text) => this.numbers.has(text))) this.sweep(texts.length * SWEEP);
    const slots = this.engine.words();
    keyed.forEach(({ index }, i) => {
      const number = this.number(texts[i] as string);
      slots[SLOT_KEYS + index] = missing & (1 << i) ? number + KEY_MISSING : number;
    });
  }

  /** The values that have numbers, with them. */
  known(): [value: string, number: number][] {
    return [...this.numbers];
  }

  /** The number of a value; the number of no cell where it has none. */
  find(value: string): number {
    return this.numbers.get(value) ?? MAX_KEY;
  }

  /** The value of a number. */
  text(number: number): string {
    return this.texts[number] ?? '';
  }

  /** The number of a value. When all numbers are used, further values share the last one. */
  number(value: string): number {
    const known = this.numbers.get(value);
    if (known !== undefined) return known;
    const number = this.spare.pop() ?? this.texts.length;
    if (number >= MAX_KEY) return MAX_KEY;
    this.texts[number] = value;
    this.numbers.set(value, number);
    return number;
  }

  private sweep(steps: number): void {
    for (let i = 0; i < steps; i++) {
      if (++this.hand >= this.texts.length) {
        this.hand = 0;
        return;
      }
      const value = this.texts[this.hand] as string;
      if (value && !this.engine.x.uses(this.owner, this.hand)) {
        this.numbers.delete(value);
        this.texts[this.hand] = '';
        this.spare.push(this.hand);
      }
    }
  }
}

/** The values of attributes, empty for those that are missing. */
export const valuesOf = (
  per: readonly string[],
  key: string | undefined,
  attributes: Attributes | undefined,
): string[] =>
  per.map((name) => {
    if (name === 'key') return key ?? '';
    const value = (typeof attributes === 'function' ? attributes(name) : attributes?.[name]) ?? '';
    return typeof value === 'string' ? value : wrongArgument(`attributes.${name}`, value, 'a string');
  });

/** What a value of an attribute adds to a key: of `ip` it is the network. */
export const keyOf = (name: string, value: string): string => (name === 'ip' ? networkOf(value) : value);

// The length of each value comes before it, so that different lists never give one key.
export function join(per: readonly string[], given: readonly string[]): string {
  const values = given.map((value, i) => keyOf(per[i] as string, value));
  if (values.length === 1) return values[0] as string;
  return values.some(Boolean) ? values.map((value) => `${value.length}:${value}`).join('') : '';
}
