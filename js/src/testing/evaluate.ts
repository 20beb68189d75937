import { durationText } from '../base/durations.js';
import { readSource } from '../core.js';
import { check, ready, shared, words, x } from '../engine/engine.js';
import {
  DECISION_CONFIGURED,
  FLAG_LAST,
  NONE,
  OUTCOMES,
  RECORD_FLAGS,
  RECORD_KIND,
  RECORD_SIZE,
  RECORD_SLOT,
  SLOT_COUNT,
  SLOT_EXACT,
  SLOT_GENERATION,
  SLOT_NOW,
  SLOT_RECORDS,
  SLOT_SLOT,
  SLOT_SPAN,
  STALE,
} from '../generated/abi.js';
import { putConditions } from '../pipeline/conditions.js';
import { putCosts, putUsed } from '../pipeline/costs.js';
import { Keys } from '../pipeline/keys.js';
import type { Layout, Source } from '../pipeline/plan.js';
import type { Policy, PolicyDocument, Step } from '../pipeline/policy.js';
import { type LogDecision, readDecision } from '../tracing/decision.js';
import { type Event, EventError, type ReadEvent, readEvent } from './events.js';

/** What `evaluate` takes besides the policy and the events. */
export interface EvaluateOptions {
  /** The name of the policy, where the document has several. */
  name?: string;
  /** The seed of all jitter, an unsigned number of 64 bits. Default 0. */
  seed?: number | bigint;
}

/**
 * Decides a log of events in virtual time, as `sluice eval` does: equal input
 * gives equal decisions. Events are objects, or a text with a JSON object in each
 * line. Throws `EventError` for an event that makes no sense and `PolicyError` for
 * a wrong document.
 *
 * @example
 * evaluate({ steps: [{ limit: '1/1s' }] }, [{ at: '0s', op: 'call', id: 1 }, { at: '1s', op: 'call', id: 2 }]);
 */
export function evaluate(
  document: PolicyDocument | Policy | readonly Step[] | string,
  events: Iterable<Event> | string,
  options: EvaluateOptions = {},
): LogDecision[] {
  ready();
  const log = new Log(document, options);
  let line = 0;
  try {
    for (const event of typeof events === 'string' ? events.split('\n') : events) {
      line++;
      if (typeof event !== 'string') log.happen(event);
      else if (event.trim() !== '') log.happen(parsed(event));
    }
  } catch (error) {
    throw new EventError(line, (error as Error).message);
  } finally {
    log.close();
  }
  return log.decisions;
}

// Whole nanoseconds may be more than a number of JavaScript holds.
const parsed = (line: string): Event =>
  JSON.parse(line.replace(/("(?:at|deadline|retry_after)"\s*:\s*)(-?\d{16,})/g, '$1"$2ns"')) as Event;

/** A call that is not over. */
interface Live {
  readonly id: number | string;
  readonly slot: number;
  readonly generation: number;
  readonly layout: Layout;
}

class Log {
  readonly decisions: LogDecision[] = [];
  private layout: Layout;
  private readonly handle: number;
  private readonly keys: Keys;
  private readonly ids = new Map<number | string, Live>();
  private readonly slots: (Live | undefined)[] = [];
  private now = 0n;

  constructor(source: Source, { name, seed = 0 }: EvaluateOptions) {
    const bits = BigInt.asUintN(64, BigInt(seed));
    const { handle, layout } = readSource(shared, source, name).plan();
    this.layout = layout;
    this.handle = check(x.pipeline(handle, Number(bits & 0xffffffffn), Number(bits >> 32n)));
    this.keys = new Keys(shared, this.handle);
  }

  close(): void {
    x.free(this.handle);
  }

  happen(event: Event): void {
    const e = readEvent(event);
    if (e.at > this.now) this.now = e.at;
    this.exact(SLOT_NOW, e.at, 1);
    this.write(x.advance(this.handle, NONE));
    const live = this.ids.get(e.id as string);
    switch (e.op) {
      case 'call':
        if (live) throw new Error(`id: a call ${JSON.stringify(e.id)} is not over`);
        this.begin(e);
        break;
      case 'configure':
        this.configure(e.policy as Source);
        break;
      case 'done':
        if (e.retryAfter !== undefined) this.exact(SLOT_SPAN, e.retryAfter, 2);
        if (live && e.used !== undefined) putUsed(shared, e.used);
        this.end(
          e,
          live &&
            x.done(
              this.handle,
              live.slot,
              live.generation,
              e.attempt,
              OUTCOMES.indexOf(e.outcome),
              NONE,
              NONE,
            ),
        );
        break;
      case 'cancel':
        this.end(e, live && x.cancel(this.handle, live.slot, live.generation, NONE));
        break;
      case 'renew':
        this.end(e, live && x.renew(this.handle, live.slot, live.generation, e.attempt, NONE));
    }
  }

  private configure(source: Source): void {
    // Compiled before the call: the records are valid until the next one.
    const { handle, layout } = readSource(shared, source, undefined).plan();
    const count = x.configure(this.handle, handle, NONE);
    this.layout = layout;
    this.write(count);
  }

  /** Says a mark or a duration exactly, for the next call. */
  private exact(slot: number, value: bigint, bit: number): void {
    const bits = BigInt.asUintN(64, value);
    const now = words();
    now[slot] = Number(BigInt.asIntN(32, bits));
    now[slot + 1] = Number(BigInt.asIntN(32, bits >> 32n));
    now[SLOT_EXACT] = bit;
  }

  private begin(e: ReadEvent): void {
    const { layout } = this;
    const by = (name: string): string => lookup(e.attributes, name);
    if (layout.keyed.length) this.keys.put(layout, e.key, by);
    if (layout.priced.length) putCosts(shared, layout, by);
    if (layout.conditions) putConditions(shared, layout.conditions, e.key, by);
    if (e.deadline !== undefined) this.exact(SLOT_SPAN, e.deadline, 2);
    const count = check(x.begin(this.handle, e.cost, 0, NONE, NONE));
    const now = words();
    const slot = now[SLOT_SLOT] as number;
    const live: Live = { id: e.id as string, slot, generation: now[SLOT_GENERATION] as number, layout };
    this.slots[slot] = live;
    this.ids.set(live.id, live);
    this.write(count);
  }

  private end(e: ReadEvent, count: number | undefined): void {
    words()[SLOT_EXACT] = 0;
    if (count === undefined || count === STALE) {
      this.decisions.push({ at: durationText(this.now), id: e.id as string, decision: 'stale' });
    } else this.write(count);
  }

  private write(count: number): void {
    const now = words();
    check(count);
    if (now[SLOT_COUNT] === 0) return;
    const view = new DataView(now.buffer, now[SLOT_RECORDS], count * RECORD_SIZE);
    for (let i = 0; i < view.byteLength; i += RECORD_SIZE) this.decisions.push(this.decision(view, i));
  }

  private decision(view: DataView, i: number): LogDecision {
    const configured = view.getUint8(i + RECORD_KIND) === DECISION_CONFIGURED;
    const live = configured ? undefined : this.slots[view.getUint32(i + RECORD_SLOT, true)];
    const line = readDecision(view, i, live);
    if (live && view.getUint8(i + RECORD_FLAGS) & FLAG_LAST) {
      this.ids.delete(live.id);
      this.slots[live.slot] = undefined;
    }
    return line;
  }
}

// Names of header fields are the same in any case (RFC 9110, section 5.1).
function lookup(attributes: { readonly [name: string]: string }, name: string): string {
  const own = attributes[name];
  if (own !== undefined || !name.startsWith('header:')) return own ?? '';
  const names = Object.keys(attributes).filter((other) => other.toLowerCase() === name);
  return attributes[names.sort()[0] as string] ?? '';
}
