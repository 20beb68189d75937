import {
  MARK_ARRIVAL,
  MARK_CALL,
  MARK_CHANGE,
  MARK_FAULT,
  MARK_OK,
  MARK_SIZE,
  MODES,
  OUTPUT_MARKS,
  OUTPUT_NAMES,
} from '../generated/abi.js';

/** A breaker of a client, and when it opens after a mark. */
export interface Opening {
  readonly step: string;
  open: boolean;
  /** Nanoseconds, and calls that arrived; of a breaker that does not open, until the end. */
  after: bigint;
  calls: number;
}

const AT = 8;
const TOOK = 16;
const NONE: readonly bigint[] = [];

/** What happened in a run, in its order. Times are nanoseconds. */
export class Marks {
  private readonly parts: DataView[] = [];
  private text = '';
  private lines: string[] = [];

  /** Takes what an output of the module has got. */
  add(kind: number, bytes: Uint8Array): void {
    if (kind === OUTPUT_NAMES) this.text += new TextDecoder().decode(bytes);
    if (kind === OUTPUT_MARKS && bytes.length) this.parts.push(new DataView(bytes.slice().buffer));
  }

  /** The marks at which requests arrive at a service, of a client or of all. */
  arrivals(service: string, client: string | undefined): readonly bigint[] {
    const all: bigint[] = [];
    this.each((view, at) => {
      if (view.getUint8(at) !== MARK_ARRIVAL || this.name(view, at + 4) !== service) return;
      if (client === undefined || client === this.name(view, at + 2))
        all.push(view.getBigInt64(at + AT, true));
    });
    return all;
  }

  /** The first mark at which a fault of one of the services begins. */
  firstFault(services: readonly string[]): bigint | undefined {
    let first: bigint | undefined;
    this.each((view, at) => {
      if (view.getUint8(at) === MARK_FAULT && services.includes(this.name(view, at + 4)))
        first ??= view.getBigInt64(at + AT, true);
    });
    return first;
  }

  /** The latencies of a client's calls that began at a mark or later and ended ok, the least first. */
  latencies(client: string, begin: bigint): readonly bigint[] {
    const all: bigint[] = [];
    this.each((view, at) => {
      if (view.getUint8(at) !== MARK_OK || this.name(view, at + 2) !== client) return;
      const took = view.getBigInt64(at + TOOK, true);
      if (view.getBigInt64(at + AT, true) - took >= begin) all.push(took);
    });
    return all.length ? all.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)) : NONE;
  }

  /** When breakers of a client open, counted from a mark. A breaker that is open there needs no time. */
  openings(client: string, steps: readonly string[], from: bigint, end: bigint): readonly Opening[] {
    const whole = end > from ? end - from : 0n;
    const all = steps.map((step): Opening => ({ step, open: false, after: whole, calls: 0 }));
    this.each((view, at) => {
      const kind = view.getUint8(at);
      if ((kind !== MARK_CALL && kind !== MARK_CHANGE) || this.name(view, at + 2) !== client) return;
      const mark = view.getBigInt64(at + AT, true);
      if (kind === MARK_CALL) {
        if (mark >= from) for (const one of all) if (!one.open) one.calls++;
        return;
      }
      const one = all.find(({ step }) => step === this.name(view, at + 4));
      if (!one || (one.open && mark >= from)) return;
      one.open = MODES[view.getUint8(at + 1)] === 'open';
      if (one.open) one.after = mark < from ? 0n : mark - from;
      else one.after = whole;
    });
    return all;
  }

  private name(view: DataView, at: number): string {
    if (!this.lines.length) this.lines = this.text.split('\n');
    return this.lines[view.getUint16(at, true)] as string;
  }

  private each(use: (view: DataView, at: number) => void): void {
    for (const view of this.parts) {
      for (let at = 0; at < view.byteLength; at += MARK_SIZE) use(view, at);
    }
  }
}

/** The first window of a length in which more than so many marks are, and how many there are. */
export function exceeded(
  marks: readonly bigint[],
  limit: number,
  window: bigint,
): { readonly from: bigint; readonly found: number } | undefined {
  for (let i = limit; i < marks.length; i++) {
    const from = marks[i - limit] as bigint;
    if ((marks[i] as bigint) - from >= window) continue;
    return { from, found: marks.filter((at) => at >= from && at - from < window).length };
  }
  return undefined;
}
