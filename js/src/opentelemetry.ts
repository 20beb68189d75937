// Metrics and span events of OpenTelemetry, by its API package alone: without an SDK they cost nothing.

import { type Attributes, type MeterProvider, metrics, trace } from '@opentelemetry/api';
import type { Observable } from './base/observable.js';
import type { Decision } from './base/types.js';
import type { Pipeline } from './pipeline/pipeline.js';

/** What is told to OpenTelemetry. */
export interface TelemetryOptions {
  /** The name of the policy, the attribute `sluice.policy`. Default: none. */
  policy?: string | undefined;
  /** The provider of meters. Default: the global one. */
  meterProvider?: MeterProvider | undefined;
  /**
   * Whether refusals, timeouts, retries, hedges, injections and changes of breakers are events of the span that is active
   * when they happen. Default false.
   */
  spanEvents?: boolean | undefined;
}

/** What emits decisions: a pipeline, or a mechanism alone. */
export type Source = Pick<Observable, 'on'> & Partial<Pick<Pipeline, 'running'>>;

/** The decisions that are events of a span. */
const EVENTS: readonly string[] = [
  'reject',
  'expire',
  'timeout',
  'retry',
  'hedge',
  'lapse',
  'change',
  'inject',
  'clamped',
];

/**
 * Counts the decisions of a pipeline or a mechanism:
 *
 * - `sluice.decisions`, a counter, with `sluice.decision`, `sluice.step`, `sluice.reason`, `sluice.outcome` and
 *   `sluice.shadow`;
 * - `sluice.breaker.changes`, a counter, with `sluice.step` and the new `sluice.state`;
 * - `sluice.call.duration`, a histogram in seconds, with `sluice.outcome`;
 * - `sluice.calls.running`, an observed gauge, of a pipeline.
 *
 * The Go bindings and `sluice serve` use the same names, so that one dashboard shows all of them. Keys and errors are
 * in none of them: the number of series is the number of steps times the number of reasons. Returns a function that
 * ends it.
 *
 * @example
 * const stop = instrument(vendor, { policy: 'vendor', spanEvents: true });
 */
export function instrument(source: Source, options: TelemetryOptions = {}): () => void {
  const { policy, meterProvider = metrics, spanEvents = false } = options;
  const meter = meterProvider.getMeter('@sluice/core');
  const decisions = meter.createCounter('sluice.decisions', {
    description: 'Decisions, with the names of the decision log.',
    unit: '{decision}',
  });
  const durations = meter.createHistogram('sluice.call.duration', {
    description: 'Time from the beginning of a call to its outcome, retries and waits included.',
    unit: 's',
  });
  const changes = meter.createCounter('sluice.breaker.changes', {
    description: 'Changes of breakers by the new state, those with a cell for each key included.',
    unit: '{change}',
  });
  const common: Attributes = policy === undefined ? {} : { 'sluice.policy': policy };
  const off = source.on((decision) => {
    const attributes = { ...common, ...attributesOf(decision) };
    (decision.kind === 'change' ? changes : decisions).add(1, attributes);
    const { kind, duration, outcome } = decision;
    if (duration !== undefined)
      durations.record(duration / 1000, { ...common, 'sluice.outcome': outcome as string });
    if (spanEvents && EVENTS.includes(kind))
      trace.getActiveSpan()?.addEvent(`sluice.${nameOf(decision)}`, attributes);
  });
  if (source.running === undefined) return off;
  const gauge = meter.createObservableGauge('sluice.calls.running', {
    description: 'Calls that have begun and not ended, those that wait included.',
    unit: '{call}',
  });
  const observe = (result: { observe(value: number, attributes: Attributes): void }): void =>
    result.observe(source.running as number, common);
  gauge.addCallback(observe);
  return () => {
    off();
    gauge.removeCallback(observe);
  };
}

/** A soft limit cuts nothing, so that it has a name of its own. */
const nameOf = ({ kind, soft }: Decision): string => (soft ? 'soft-timeout' : kind);

/** What of a decision has few values. */
function attributesOf(decision: Decision): Attributes {
  const { kind, step, reason, outcome, state, shadow } = decision;
  return {
    ...(kind !== 'change' && { 'sluice.decision': nameOf(decision) }),
    ...(step !== undefined && { 'sluice.step': step }),
    ...(reason !== undefined && kind !== 'change' && { 'sluice.reason': reason }),
    ...(outcome !== undefined && { 'sluice.outcome': outcome }),
    ...(state !== undefined && { 'sluice.state': state }),
    ...(shadow && { 'sluice.shadow': true }),
  };
}
