// Records what passes between a pipeline and its module, in the format of docs/trace.md of the repository.

import { wallOf } from '../base/clock.js';
import { durationText } from '../base/durations.js';
import type { Engine } from '../engine/engine.js';
import {
  DECISION_CHANGE,
  DECISION_CONFIGURED,
  DONE_KEEPS,
  type Exports,
  FLAG_LAST,
  NONE,
  OUTCOMES,
  RECORD_AT,
  RECORD_FLAGS,
  RECORD_GENERATION,
  RECORD_KIND,
  RECORD_SIZE,
  RECORD_SLOT,
  SLOT_COUNT,
  SLOT_GENERATION,
  SLOT_RECORDS,
  SLOT_SLOT,
  SLOT_SPENT,
  SLOT_USED,
} from '../generated/abi.js';
import type { PipelineCallOptions } from '../pipeline/call-options.js';
import { valuesOf } from '../pipeline/keys.js';
import type { Layout } from '../pipeline/plan.js';
import type { Policy } from '../pipeline/policy.js';
import type { Recording, Traced } from '../pipeline/recording.js';
import { readDecision } from './decision.js';
import { hashes, type Redact } from './redact.js';

/** What all pipelines of a trace have in common. */
export interface Log {
  readonly redact: Redact;
  readonly attributes: readonly string[];
  readonly hash: (value: string) => string;
  /** Takes headers, which are not counted. */
  head(text: string): void;
  /** Takes lines, and whether they begin a call; at a mark of the trace in nanoseconds. */
  put(lines: readonly string[], begins: boolean, at: bigint): void;
}

/** A call that is not over. */
interface Live {
  readonly pipe: Pipe;
  readonly id: number | string;
  readonly slot: number;
  readonly generation: number;
  readonly layout: Layout;
}

/** What an event says beside its mark and its kind. */
type Event = { readonly [name: string]: unknown };

/** The most nanoseconds of a mark. */
const MOST = 2n ** 63n - 1n;

/** Milliseconds in nanoseconds, as the module truncates them. */
function nanosecondsOf(milliseconds: number): bigint {
  const n = Math.trunc(milliseconds * 1e6);
  return Number.isSafeInteger(n) ? BigInt(n) : n > 0 ? clamped(n) : -clamped(-n);
}

const clamped = (n: number): bigint => (n >= 2 ** 63 ? MOST : BigInt(n));

/** FNV-1a with 64 bits. */
function digestOf(text: string): string {
  let h = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    h = BigInt.asUintN(64, (h ^ BigInt(byte)) * 0x100000001b3n);
  }
  return h.toString(16).padStart(16, '0');
}

/** RFC 3339 of nanoseconds since 1970. */
function timeText(nanoseconds: bigint): string {
  const second = nanoseconds / 1_000_000_000n;
  const rest = String(nanoseconds % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return new Date(Number(second) * 1000).toISOString().replace(/\.000Z$/, rest ? `.${rest}Z` : 'Z');
}

/** The mark that is 0 in a trace, and what the pipelines that share mechanisms have in common. */
interface Group {
  readonly origin: bigint;
  readonly began: string;
  /** The calls by their slots. */
  readonly live: (Live | undefined)[];
}

/** Records the calls of one policy. */
export class Pipe implements Recording {
  readonly engine: Engine;
  private readonly group: Group;
  private readonly name: string | undefined;
  private policy: Policy;
  private begun: { layout: Layout; options: PipelineCallOptions | undefined } | undefined;
  private calls = 0;
  /** The mark of the last event or tick. */
  private last = -1n;

  constructor(
    private readonly log: Log,
    { engine, clock, policy, name, beside }: Traced,
  ) {
    this.name = name;
    this.policy = policy;
    const now = clock.now();
    this.group = (beside as Pipe | undefined)?.group ?? {
      origin: nanosecondsOf(now),
      began: timeText(BigInt(Math.max(0, Math.round(wallOf(clock) * 1e3))) * 1000n),
      live: [],
    };
    this.engine = Object.create(engine, { x: { value: this.recorded(engine) } }) as Engine;
  }

  begins(layout: Layout, options: PipelineCallOptions | undefined): void {
    this.begun = { layout, options };
  }

  changes(policy: Policy): void {
    this.policy = policy;
  }

  /** What the module exports, with its functions that decide in versions that record. */
  private recorded(engine: Engine): Exports {
    const { x } = engine;
    const own: Partial<Exports> = {
      pipeline: (plan, low, high) => this.made(x.pipeline(plan, low, high), low, high),
      join: (pipeline, plan, low, high) => this.made(x.join(pipeline, plan, low, high), low, high),
      begin: (handle, cost, flags, deadline, now) => {
        const { layout, options } = this.begun as {
          layout: Layout;
          options: PipelineCallOptions | undefined;
        };
        this.begun = undefined;
        const count = x.begin(handle, cost, flags, deadline, now);
        if (count < 0) return count;
        const words = engine.words();
        const number = ++this.calls;
        const call: Live = {
          pipe: this,
          id: this.name === undefined ? number : `${this.name}/${number}`,
          slot: words[SLOT_SLOT] as number,
          generation: words[SLOT_GENERATION] as number,
          layout,
        };
        this.decided(engine, now, this.callEvent(call, cost, deadline, options), call);
        return count;
      },
      done: (handle, slot, generation, attempt, outcome, after, now) => {
        const call = this.find(slot, generation);
        const words = engine.words();
        const used = words[SLOT_SPENT] ? (words[SLOT_USED] as number) >>> 0 : undefined;
        const count = x.done(handle, slot, generation, attempt, outcome, after, now);
        this.happened(engine, now, count, call, 'done', {
          outcome: OUTCOMES[outcome & ~DONE_KEEPS],
          ...this.attemptOf(call, attempt),
          ...(!Number.isNaN(after) && { retry_after: durationText(nanosecondsOf(after)) }),
          ...(used !== undefined && { used }),
        });
        return count;
      },
      cancel: (handle, slot, generation, now) => {
        const call = this.find(slot, generation);
        const count = x.cancel(handle, slot, generation, now);
        this.happened(engine, now, count, call, 'cancel', {});
        return count;
      },
      renew: (handle, slot, generation, attempt, now) => {
        const call = this.find(slot, generation);
        const count = x.renew(handle, slot, generation, attempt, now);
        this.happened(engine, now, count, call, 'renew', this.attemptOf(call, attempt));
        return count;
      },
      configure: (handle, plan, now) => {
        const count = x.configure(handle, plan, now);
        if (count >= 0) this.decided(engine, now, { op: 'configure', ...this.own, policy: this.policy });
        return count;
      },
      advance: (handle, now) => this.passed(engine, x.advance(handle, now)),
      ask: (handle, step, key, kind, cost, now) =>
        this.passed(engine, x.ask(handle, step, key, kind, cost, now)),
      load: (handle, step, key, size, by, now) =>
        this.passed(engine, x.load(handle, step, key, size, by, now)),
    };
    return Object.create(
      x,
      Object.fromEntries(Object.entries(own).map(([name, value]) => [name, { value }])),
    ) as Exports;
  }

  /** Writes the header: the pipeline is made, with a seed. */
  private made(handle: number, low: number, high: number): number {
    const body = JSON.stringify(this.policy);
    const { log, name = '' } = this;
    if (handle >= 0) {
      const header = {
        trace: 1,
        policy: name,
        ...(this.name !== undefined && { prefixed: true }),
        began: this.group.began,
        seed: String((BigInt(high) << 32n) | BigInt(low)),
        digest: digestOf(body),
        sample: 1,
        redact: log.redact,
      };
      // The digest is the digest of these bytes.
      log.head(`${JSON.stringify(header).slice(0, -1)},"body":${body}}\n`);
    }
    return handle;
  }

  /** The id of events of the policy, where the trace has several. */
  private get own(): Event {
    return this.name === undefined ? {} : { id: this.name };
  }

  private find(slot: number, generation: number): Live | undefined {
    const call = this.group.live[slot];
    return call?.generation === generation ? call : undefined;
  }

  /** The number of an attempt, where several of a call may run. */
  private attemptOf(call: Live | undefined, attempt: number): Event {
    return call && call.layout.hedge >= 0 ? { attempt } : {};
  }

  private callEvent(
    call: Live,
    cost: number,
    deadline: number,
    options: PipelineCallOptions | undefined,
  ): Event {
    const { log } = this;
    const { keyed, priced, conditions } = call.layout;
    const key = options?.key ?? '';
    const costs = priced.map(({ attribute }) => attribute);
    const names = new Set([
      ...log.attributes,
      ...keyed.flatMap(({ per }) => per),
      ...costs,
      ...(conditions?.attributes ?? []),
    ]);
    names.delete('key');
    const sorted = [...names].sort();
    const values = valuesOf(sorted, key, options?.attributes);
    const attributes = sorted.flatMap((name, i) => {
      const value = values[i] as string;
      // A replay needs the cost.
      const plain = costs.includes(name) && /^\d{1,18}$/.test(value);
      return value ? [[name, hashes(log.redact, name) && !plain ? log.hash(value) : value]] : [];
    });
    return {
      op: 'call',
      id: call.id,
      ...(key && { key: log.redact === 'all' ? log.hash(key) : key }),
      ...(cost !== 1 && { cost }),
      ...(attributes.length && { attributes: Object.fromEntries(attributes) }),
      ...(!Number.isNaN(deadline) && { deadline: durationText(nanosecondsOf(deadline)) }),
    };
  }

  /** Something happened to a call. One that is over has no such event. */
  private happened(
    engine: Engine,
    now: number,
    count: number,
    call: Live | undefined,
    op: string,
    more: Event,
  ): void {
    const event = call && count >= 0 ? { op, id: call.id, ...more } : undefined;
    this.decided(engine, now, event);
  }

  private passed(engine: Engine, count: number): number {
    this.decided(engine, NONE, undefined);
    return count;
  }

  /** Writes an event, and the decisions that the module left: what had become due before it comes before it. */
  private decided(engine: Engine, now: number, event: Event | undefined, begun?: Live): void {
    const { group, log } = this;
    const words = engine.words();
    const size = (words[SLOT_COUNT] as number) * RECORD_SIZE;
    const view = size ? new DataView(words.buffer, words[SLOT_RECORDS], size) : undefined;
    const at = event ? this.markOf(now) : 0n;
    let open = event;
    const write = (): void => {
      if (!open) return;
      this.last = at > this.last ? at : this.last;
      log.put([JSON.stringify({ at: durationText(at), ...open })], begun !== undefined, at);
      open = undefined;
    };
    // What became due may end the call that had the slot before.
    let over = false;
    for (let i = 0; i < size; i += RECORD_SIZE) {
      const record = view as DataView;
      const kind = record.getUint8(i + RECORD_KIND);
      if (kind === DECISION_CHANGE) continue;
      const mark = this.traced(record.getBigInt64(i + RECORD_AT, true));
      if (mark >= at) write();
      const slot = record.getUint32(i + RECORD_SLOT, true);
      const generation = record.getUint32(i + RECORD_GENERATION, true);
      const isBegun = begun?.slot === slot && begun.generation === generation;
      const call = isBegun ? begun : this.find(slot, generation);
      const configured = kind === DECISION_CONFIGURED;
      if (!call && !configured) continue;
      (call && !configured ? call.pipe : this).decide(record, i, mark, configured ? undefined : call);
      if (call && !configured && record.getUint8(i + RECORD_FLAGS) & FLAG_LAST) {
        if (isBegun) over = true;
        else group.live[slot] = undefined;
      }
    }
    write();
    if (begun) group.live[begun.slot] = over ? undefined : begun;
  }

  /** Writes a decision, and before it that time passed where it is the first of its mark. */
  private decide(view: DataView, i: number, mark: bigint, call: Live | undefined): void {
    const lines = [
      JSON.stringify(
        call
          ? readDecision(view, i, call, this.group.origin)
          : { at: durationText(mark), ...this.own, decision: 'configured' },
      ),
    ];
    if (mark > this.last) {
      this.last = mark;
      lines.unshift(JSON.stringify({ at: durationText(mark), op: 'tick', ...this.own }));
    }
    this.log.put(lines, false, mark);
  }

  private markOf(now: number): bigint {
    return this.traced(nanosecondsOf(now));
  }

  /** A mark of the clock as one of the trace. */
  private traced(mark: bigint): bigint {
    const at = mark - this.group.origin;
    return at > 0n ? at : 0n;
  }
}
