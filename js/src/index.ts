// What the package exports. Values are in core.ts, which all entries share.

export type { Backoff, Jitter } from './backoff.js';
export type { BreakerPass, CircuitBreaker, CircuitBreakerOptions } from './breaker.js';
export type { Bulkhead, BulkheadOptions, Permit } from './bulkhead.js';
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
export type { Listener } from './emitter.js';
export type { InstanceOption, MemoryUsage } from './engine.js';
export type { PolicyErrorCode, Problem } from './errors.js';
export type { FetchOptions, ResilientFetch } from './fetch.js';
export type { Hedge } from './hedge.js';
export type { KeyCounts, KeyedOptions, KeyedRateLimiter, KeyedRateLimiterOptions } from './keyed.js';
export type {
  CircuitBreakerFactory,
  KeyedCircuitBreaker,
  KeyedCircuitBreakerOptions,
} from './keyed-breaker.js';
export type { BulkheadFactory, KeyedBulkhead, KeyedBulkheadOptions } from './keyed-bulkhead.js';
export type { KeyedCallOptions, KeyedSettings } from './keyed-cells.js';
export type { Attributes } from './keys.js';
export type { BlockOptions, BlockTime, RateLimiter, RateLimiterOptions, WarmUpOptions } from './limiter.js';
export type { PipelinePass } from './pass.js';
export type { Pipeline } from './pipeline.js';
export type { PipelineCallOptions, PipelineOptions, ResultHooks } from './pipeline-options.js';
export type { Source } from './plan.js';
export type {
  AdaptiveOptions,
  Attribute,
  BulkheadStepOptions,
  ChaosOptions,
  Condition,
  ConditionCase,
  Cost,
  CostAttribute,
  CountedOutcome,
  Defaults,
  ExtendingPolicy,
  HedgeOptions,
  HttpClass,
  Imported,
  LimitOptions,
  Methods,
  PassingPolicy,
  Policy,
  PolicyDocument,
  RetryStepOptions,
  Sections,
  Step,
  SteppedPolicy,
  StepSettings,
  Use,
} from './policy.js';
export type { RateLimiterFactory } from './rate-limiter.js';
export type { Budget, Retry, RetryOptions } from './retry-options.js';
export type { Snapshot } from './snapshot.js';
export type { BulkheadCounts, PipelineStep } from './step.js';
export type { Timeout, TimeoutOptions } from './timeout.js';
export type * from './types.js';
export type { Runs, Wrapped } from './wrap.js';
