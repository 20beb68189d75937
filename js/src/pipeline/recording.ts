// What a pipeline and its trace know of each other. The recorder itself is in an entry of its own.

import type { Clock } from '../base/types.js';
import type { Engine } from '../engine/engine.js';
import type { PipelineCallOptions } from './call-options.js';
import type { Layout } from './plan.js';
import type { Policy } from './policy.js';

/** Records the calls of one pipeline. */
export interface Recording {
  /** The engine of the pipeline, whose functions record what they decide. */
  readonly engine: Engine;
  /** A call begins next. */
  begins(layout: Layout, options: PipelineCallOptions | undefined): void;
  /** Another policy becomes active next. */
  changes(policy: Policy): void;
}

/** A pipeline whose calls are to be recorded. */
export interface Traced {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly policy: Policy;
  /** The name of the policy where the trace has several. */
  readonly name: string | undefined;
  /** The recording of the pipeline with which it shares mechanisms. */
  readonly beside: Recording | undefined;
}

/** What records the calls of pipelines. */
export interface Tracer {
  /** Ends the recording. */
  stop(): void;
  /** @internal */
  attach(traced: Traced): Recording;
}
