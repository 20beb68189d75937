import { KEYS, MAX_KEY } from './abi.js';
import { words, x } from './engine.js';
import type { Layout } from './plan.js';

/** Answers for the attributes of a call. */
export type Attributes =
  | { readonly [attribute: string]: string }
  | ((attribute: string) => string | null | undefined);

/** How many numbers are looked at, to take back what is out of use, for each keyed step of a call. */
const SWEEP = 2;

/** Numbers for the values of attributes, as long as the pipeline uses them. */
export class Keys {
  private readonly numbers = new Map([['', 0]]);
  private readonly texts: string[] = [''];
  private readonly spare: number[] = [];
  private hand = 0;

  constructor(private readonly owner: number) {}

  /** Puts the numbers of a call into the slots. */
  put(layout: Layout, key: string | undefined, attributes: Attributes | undefined): void {
    const lookup = (name: string): string =>
      (name === 'key' ? key : typeof attributes === 'function' ? attributes(name) : attributes?.[name]) ?? '';
    // Until the call has begun, the module does not use its numbers: none may be taken back between them.
    this.sweep(layout.steps.length * SWEEP);
    const numbers = layout.steps.map(({ per }) => (per.length ? this.number(join(per, lookup)) : 0));
    words().set(numbers, KEYS);
  }

  /** The values that have numbers, with them. */
  known(): [value: string, number: number][] {
    return [...this.numbers];
  }

  /** The number of a value. Where there are no more numbers, the last one is for all that come. */
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
      if (value && !x.uses(this.owner, this.hand)) {
        this.numbers.delete(value);
        this.texts[this.hand] = '';
        this.spare.push(this.hand);
      }
    }
  }
}

// Lengths stand before values, so that different lists never give one key.
function join(per: readonly string[], lookup: (name: string) => string): string {
  const values = per.map(lookup);
  if (values.length === 1) return values[0] as string;
  return values.some(Boolean) ? values.map((value) => `${value.length}:${value}`).join('') : '';
}
