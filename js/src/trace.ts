// Records what calls bring and what is decided about them, for `sluice replay`, `explain`, `diff` and `eval`.

import { checkNames, wrongArgument } from './base/checks.js';
import { durationText } from './base/durations.js';
import { once } from './base/guard.js';
import type { Recording, Traced, Tracer } from './pipeline/recording.js';
import { type Log, Pipe } from './tracing/recorder.js';
import { hasher, type Redact } from './tracing/redact.js';

export type { Redact } from './tracing/redact.js';

/** Options of a trace. */
export interface TraceOptions {
  /** Which values are replaced by hashes. Default `secrets`: of attributes whose names say so. */
  redact?: Redact | undefined;
  /** Attributes that are recorded beside those that the policy uses, for a replay under a policy that uses others. Default: none. */
  attributes?: readonly string[] | undefined;
}

/** What a trace has recorded. */
export interface TraceCounts {
  /** The calls that were recorded. */
  readonly calls: number;
  /** The lines that were recorded, headers not counted. */
  readonly lines: number;
  /** The calls that are missing altogether, because the function that takes the lines failed. */
  readonly lostCalls: number;
  /** The lines that are missing of other calls. */
  readonly lostLines: number;
}

/** Takes whole lines, each with its line feed. */
export type TraceSink = (lines: string) => unknown;

const NAMES = ['redact', 'attributes'];
const REDACTS = ['secrets', 'all', 'none'];

/** Records the calls of a pipeline, or of all pipelines of a document. Make one with `trace`. */
export class Trace implements Tracer {
  // Private to the language: pipelines see what `attach` returns alone.
  readonly #sink: TraceSink;
  readonly #log: Log;
  #open = true;
  #error: [unknown] | undefined;
  #taken: string | undefined;
  #counts = { calls: 0, lines: 0, lostCalls: 0, lostLines: 0 };
  #end = 0n;

  /** @internal */
  constructor(sink: TraceSink, { redact = 'secrets', attributes = [] }: TraceOptions) {
    this.#sink = sink;
    this.#log = {
      redact,
      attributes,
      hash: hasher(),
      head: (text) => {
        if (this.#open && !this.#error) this.#give(text);
      },
      put: (lines, begins, at) => this.#put(lines, begins, at),
    };
  }

  /** What it has recorded so far. */
  get counts(): TraceCounts {
    return { ...this.#counts };
  }

  /** What the function threw that takes the lines, or what its promise was rejected with; undefined for nothing. Nothing is recorded after it. */
  get error(): unknown {
    return this.#error?.[0];
  }

  /** Ends the trace with its last line. Later calls do nothing. */
  stop(): void {
    if (!this.#open) return;
    this.#open = false;
    const { calls, lines, lostCalls, lostLines } = this.#counts;
    const end = {
      trace: 1,
      end: durationText(this.#end),
      calls,
      lines,
      lost_calls: lostCalls,
      lost_lines: lostLines,
    };
    if (!this.#error) this.#give(`${JSON.stringify(end)}\n`);
  }

  /** @internal */
  attach(traced: Traced): Recording {
    const { name } = traced;
    if (!this.#open || (this.#taken !== undefined && (name === undefined || this.#taken === ''))) {
      wrongArgument('trace', this, 'a trace that has recorded no other pipeline');
    }
    this.#taken = name ?? '';
    return new Pipe(this.#log, traced);
  }

  #put(lines: readonly string[], begins: boolean, at: bigint): void {
    if (!this.#open) return;
    const counts = this.#counts;
    if (at > this.#end) this.#end = at;
    if (this.#error) {
      if (begins) counts.lostCalls++;
      else counts.lostLines += lines.length;
      return;
    }
    if (begins) counts.calls++;
    counts.lines += lines.length;
    this.#give(`${lines.join('\n')}\n`);
  }

  #give(text: string): void {
    const failed = (error: unknown): void => {
      this.#error ??= [error];
      once(this, '@sluice/core: a trace cannot be written; nothing more of it is recorded:', error);
    };
    try {
      const result = this.#sink(text);
      // A promise may be of another realm.
      if (typeof (result as PromiseLike<unknown> | undefined)?.then === 'function') {
        Promise.resolve(result).catch(failed);
      }
    } catch (error) {
      failed(error);
    }
  }
}

/**
 * Makes a trace, for the option `trace` of `pipeline`, `policy` and `policies`: all calls of them are recorded, from the
 * first one on, in the format that `sluice replay`, `explain`, `diff` and `eval` read. The function takes whole lines; what
 * it throws ends the recording and no call. Throws `PolicyError` for wrong options.
 *
 * @example
 * const file = createWriteStream('trace.ndjson');
 * const calls = pipeline([{ limit: '50/1m' }], { trace: trace((lines) => void file.write(lines)) });
 */
export function trace(sink: TraceSink, options: TraceOptions = {}): Trace {
  if (typeof sink !== 'function') wrongArgument('trace', sink, 'a function that takes lines');
  checkNames('trace', options, NAMES);
  const { redact = 'secrets', attributes = [] } = options;
  if (!REDACTS.includes(redact)) wrongArgument('trace.redact', redact, REDACTS.join(', '));
  if (!Array.isArray(attributes) || attributes.some((name) => typeof name !== 'string')) {
    wrongArgument('trace.attributes', attributes, 'a list of attributes');
  }
  return new Trace(sink, options);
}
