// The lines of decisions, in the order of their fields. eval/REFERENCE.md of the repository says what they mean.

import { durationText } from '../base/durations.js';
import {
  FLAG_FALLBACK,
  FLAG_SHADOW,
  FLAG_VALUE,
  KINDS,
  OUTCOMES,
  REASONS,
  RECORD_AT,
  RECORD_ATTEMPT,
  RECORD_FLAGS,
  RECORD_KIND,
  RECORD_OUTCOME,
  RECORD_REASON,
  RECORD_STEP,
  RECORD_VALUE,
} from '../generated/abi.js';
import { type Layout, stepName } from '../pipeline/plan.js';

/** A decision, with the fields of the decision log in their order: as JSON it is the line of `sluice eval`. */
export interface LogDecision {
  at: string;
  id?: number | string;
  decision: Exclude<(typeof KINDS)[number], ''> | 'stale';
  outcome?: string;
  attempt?: number;
  step?: string;
  reason?: string;
  dropped?: number;
  won?: number;
  until?: string;
  retry_after?: string;
  shadow?: true;
  fallback?: true;
}

/** The kinds whose decisions name no attempt. */
const WHOLE = ['reject', 'expire', 'clamped', 'configured'];

/** Reads the record at a place, about a call where there is one. `origin` is the mark that counts as 0. */
export function readDecision(
  view: DataView,
  i: number,
  call: { readonly id: number | string; readonly layout: Layout } | undefined,
  origin = 0n,
): LogDecision {
  const kind = KINDS[view.getUint8(i + RECORD_KIND)] as LogDecision['decision'];
  const flags = view.getUint8(i + RECORD_FLAGS);
  const about = kind === 'configured' ? undefined : call;
  const step = about && stepName(about.layout, view.getUint8(i + RECORD_STEP));
  const reason = REASONS[view.getUint8(i + RECORD_REASON)];
  const value = flags & FLAG_VALUE ? view.getBigInt64(i + RECORD_VALUE, true) : undefined;
  const has = (...kinds: readonly string[]): boolean => kinds.includes(kind);
  const line: LogDecision = {
    at: durationText(view.getBigInt64(i + RECORD_AT, true) - origin),
    ...(about && { id: about.id }),
    decision: kind,
  };
  const outcome = OUTCOMES[view.getUint8(i + RECORD_OUTCOME)] as string;
  if (outcome && has('end', 'inject')) line.outcome = outcome;
  if (!WHOLE.includes(kind)) line.attempt = view.getUint32(i + RECORD_ATTEMPT, true);
  if (step !== undefined) line.step = step;
  if (reason) line.reason = reason;
  if (value === undefined) {
    // It has no number.
  } else if (kind === 'clamped') line.dropped = Number(value);
  else if (kind === 'end') line.won = Number(value);
  else if (has('wait', 'retry') || (kind === 'inject' && !outcome)) line.until = durationText(value - origin);
  else if (has('reject', 'inject')) line.retry_after = durationText(value);
  if (flags & FLAG_SHADOW) line.shadow = true;
  if (flags & FLAG_FALLBACK) line.fallback = true;
  return line;
}
