// The records of decisions that a call of the module leaves.

import type { Told } from '../base/emitter.js';
import type { Decision, Reason } from '../base/types.js';
import type { Engine } from '../engine/engine.js';
import {
  DECISION_CHANGE,
  DECISION_CLAMPED,
  DECISION_END,
  DECISION_FAILED,
  DECISION_INJECT,
  DECISION_REJECT,
  DECISION_RETRY,
  FLAG_FALLBACK,
  FLAG_SHADOW,
  FLAG_VALUE,
  KINDS,
  MODES,
  OUTCOMES,
  REASONS,
  RECORD_ATTEMPT,
  RECORD_FLAGS,
  RECORD_KIND,
  RECORD_MILLIS,
  RECORD_SIZE,
  RECORD_SLOT,
  RECORD_VALUE,
} from '../generated/abi.js';
import { type Layout, type PlanStep, stepName } from './plan.js';

/** The words of a record. */
export const RECORD_WORDS = RECORD_SIZE / 4;

/** The attempt of an end, the state of a change; else milliseconds. */
function amountOf(kind: number, engine: Engine, i: number): number {
  const words = engine.memory();
  const low = words[i + RECORD_VALUE / 4] as number;
  if (kind === DECISION_END || kind === DECISION_CHANGE) return low;
  if (kind === DECISION_CLAMPED)
    return ((words[i + RECORD_VALUE / 4 + 1] as number) >>> 0) * 2 ** 32 + (low >>> 0);
  return engine.memoryFloats()[(i + RECORD_MILLIS / 4) >> 1] as number;
}

/** The call that a decision is about. */
export interface Subject {
  readonly layout: Layout;
  readonly options: { readonly key?: string | undefined } | undefined;
  /** When it began, in milliseconds of the clock. */
  readonly began: number;
  /** What an attempt threw that has just ended, or was cut. */
  errorOf(attempt: number): unknown;
}

/** A decision of the module, read from a record. */
export class DecisionRecord {
  readonly kind: number;
  readonly outcome: number;
  readonly reason: Reason;
  /** The index of the step. */
  readonly step: number;
  readonly flags: number;
  readonly attempt: number;
  readonly slot: number;
  /** Of a change: which of the pipelines that share mechanisms, in the order in which they were made. */
  readonly policy: number;
  /** The attempt that won, of an end; the state of a breaker, of a change; permits, of a clamped; else milliseconds. */
  readonly value: number | undefined;
  /** When it was made, in milliseconds. */
  readonly at: number;

  /** `i` is the index of the record among the words of the memory. */
  constructor(engine: Engine, i: number) {
    const words = engine.memory();
    const bits = words[i + RECORD_KIND / 4] as number;
    this.kind = bits & 0xff;
    this.outcome = (bits >> 8) & 0xff;
    this.reason = REASONS[(bits >> 16) & 0xff] as Reason;
    this.step = bits >>> 24;
    this.flags = (words[i + RECORD_FLAGS / 4] as number) & 0xff;
    this.attempt = words[i + RECORD_ATTEMPT / 4] as number;
    this.slot = words[i + RECORD_SLOT / 4] as number;
    this.policy = ((words[i + RECORD_FLAGS / 4] as number) >>> 16) & 0xffff;
    this.value = this.flags & FLAG_VALUE ? amountOf(this.kind, engine, i) : undefined;
    this.at = ((words[i + 1] as number) * 2 ** 32 + ((words[i] as number) >>> 0)) / 1e6;
  }

  /** Whether a fallback may answer in place of it. */
  get covered(): boolean {
    return (this.flags & FLAG_FALLBACK) !== 0;
  }

  /** Whether it is one of a step that enforces nothing. */
  get shadow(): boolean {
    return (this.flags & FLAG_SHADOW) !== 0;
  }

  /** The kind, as listeners know it. */
  get name(): Decision['kind'] {
    return KINDS[this.kind] as Decision['kind'];
  }

  /** The decision for listeners, of the call that it is about. */
  told(call: Subject | undefined): Told {
    const { kind, at, value, attempt } = this;
    const ends = kind === DECISION_END;
    const again = kind === DECISION_RETRY;
    const clamped = kind === DECISION_CLAMPED;
    const refused = kind === DECISION_REJECT || (kind === DECISION_INJECT && this.outcome > 0);
    return {
      kind: this.name,
      at,
      step: call && stepName(call.layout, this.step),
      key: call?.options?.key,
      attempt: attempt || undefined,
      reason: this.reason || undefined,
      outcome: (OUTCOMES[this.outcome] as 'ok') || undefined,
      until: ends || refused || clamped ? undefined : value,
      delay: again && value !== undefined ? value - at : undefined,
      won: ends ? value : undefined,
      retryAfter: refused ? value : undefined,
      dropped: clamped ? value : undefined,
      duration: ends && call ? at - call.began : undefined,
      error: (ends || again || kind === DECISION_FAILED) && call ? call.errorOf(attempt) : undefined,
      shadow: this.shadow || undefined,
      fallback: this.covered || undefined,
    };
  }

  /** The change of a breaker for listeners, at a step and for a key. */
  toldChange(step: PlanStep | undefined, key: string): Told {
    return {
      kind: 'change',
      at: this.at,
      step: step?.name,
      key: key || undefined,
      reason: this.reason || undefined,
      state: MODES[this.value as number],
      shadow: step?.shadow || undefined,
    };
  }
}
