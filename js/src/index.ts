// What the package exports. Values are in core.ts, which all entries share.

export type { Listener } from './base/emitter.js';
export type { PolicyErrorCode, Problem } from './base/errors.js';
export type { Snapshot } from './base/snapshot.js';
export type * from './base/types.js';
export type * from './base/values.js';
export type { BreakerPass, CircuitBreaker, CircuitBreakerOptions } from './cells/breaker.js';
export type { Bulkhead, BulkheadOptions, Permit } from './cells/bulkhead.js';
export type { KeyCounts, KeyedOptions, KeyedRateLimiter, KeyedRateLimiterOptions } from './cells/keyed.js';
export type {
  CircuitBreakerFactory,
  KeyedCircuitBreaker,
  KeyedCircuitBreakerOptions,
} from './cells/keyed-breaker.js';
export type { BulkheadFactory, KeyedBulkhead, KeyedBulkheadOptions } from './cells/keyed-bulkhead.js';
export type { KeyedCallOptions, KeyedSettings } from './cells/keyed-cells.js';
export type {
  RateLimiter,
  RateLimiterOptions,
} from './cells/limiter.js';
export type { RateLimiterFactory } from './cells/rate-limiter.js';
export {
  bulkhead,
  circuitBreaker,
  HedgeLostError,
  hedge,
  InjectedError,
  limitMemory,
  memoryUsage,
  PolicyError,
  pipeline,
  policies,
  policy,
  RejectedError,
  rateLimiter,
  resilientFetch,
  retry,
  systemClock,
  TimeoutError,
  timeout,
  wrap,
} from './core.js';
export type { MemoryUsage } from './engine/engine.js';
export type * from './generated/settings.js';
export type {
  AdaptiveSettings as AdaptiveOptions,
  ChaosSettings as ChaosOptions,
  LimitBlock as BlockOptions,
  LimitWarmUp as WarmUpOptions,
} from './generated/settings.js';
export type { FetchOptions, ResilientFetch } from './http/fetch.js';
export type { PipelineCallOptions } from './pipeline/call-options.js';
export type { Hedge } from './pipeline/hedge.js';
export type { Attributes } from './pipeline/keys.js';
export type { PipelineOptions, ResultHooks } from './pipeline/options.js';
export type { PipelinePass } from './pipeline/pass.js';
export type { Pipeline } from './pipeline/pipeline.js';
export type { Source } from './pipeline/plan.js';
export type {
  BulkheadStepOptions,
  Condition,
  ConditionCase,
  CountedOutcome,
  Defaults,
  ExtendingPolicy,
  HedgeOptions,
  HttpClass,
  Imported,
  LimitOptions,
  PassingPolicy,
  Policy,
  PolicyDocument,
  RetryStepOptions,
  Sections,
  Step,
  SteppedPolicy,
  StepSettings,
  Use,
} from './pipeline/policy.js';
export type { Retry, RetryOptions } from './pipeline/retry-options.js';
export type { BulkheadCounts, PipelineStep } from './pipeline/step.js';
export type { Timeout, TimeoutOptions } from './pipeline/timeout.js';
export type { Runs, Wrapped } from './pipeline/wrap.js';
