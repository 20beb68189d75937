import { SLOT_PERMIT } from '../generated/abi.js';

/** The words of a permit, kept for the step that ends it. */
export class Held {
  private readonly a: number;
  private readonly b: number;
  private readonly c: number;
  private readonly d: number;
  private readonly e: number;
  private readonly f: number;

  constructor(words: Int32Array, at = SLOT_PERMIT) {
    this.a = words[at] as number;
    this.b = words[at + 1] as number;
    this.c = words[at + 2] as number;
    this.d = words[at + 3] as number;
    this.e = words[at + 4] as number;
    this.f = words[at + 5] as number;
  }

  /** Puts the permit where a step reads it. */
  put(words: Int32Array): void {
    words[SLOT_PERMIT] = this.a;
    words[SLOT_PERMIT + 1] = this.b;
    words[SLOT_PERMIT + 2] = this.c;
    words[SLOT_PERMIT + 3] = this.d;
    words[SLOT_PERMIT + 4] = this.e;
    words[SLOT_PERMIT + 5] = this.f;
  }
}
