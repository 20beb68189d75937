// Uses every export with its types. `errors.ts` has what must not compile.

import {
  type AdaptiveOptions,
  type Admission,
  type Attempt,
  type Attribute,
  type Attributes,
  type Backoff,
  type BreakerPass,
  type BreakerState,
  type Bulkhead,
  type BulkheadCounts,
  type BulkheadFactory,
  type BulkheadOptions,
  bulkhead,
  type CallOptions,
  type CircuitBreaker,
  type CircuitBreakerFactory,
  type CircuitBreakerOptions,
  type Classifier,
  type Clock,
  type CommonOptions,
  type CostAttribute,
  type CostOptions,
  type CountedOutcome,
  circuitBreaker,
  type Decision,
  type Duration,
  type FetchOptions,
  type Hedge,
  hedge,
  type HedgeOptions,
  type HttpClass,
  type InstanceOption,
  type Jitter,
  type KeyCounts,
  type KeyedBulkhead,
  type KeyedBulkheadOptions,
  type KeyedCallOptions,
  type KeyedCircuitBreaker,
  type KeyedCircuitBreakerOptions,
  type KeyedOptions,
  type KeyedRateLimiter,
  type KeyedRateLimiterOptions,
  type KeyedSettings,
  type LimiterAdmission,
  type LimitOptions,
  type Listener,
  limitMemory,
  type MemoryUsage,
  memoryUsage,
  type ChaosOptions,
  HedgeLostError,
  InjectedError,
  type Methods,
  type Imported,
  type Outcome,
  type Permit,
  type Pipeline,
  type PipelineCallOptions,
  type PipelineOptions,
  type PipelinePass,
  type PipelineStep,
  type Policy,
  type PolicyDocument,
  PolicyError,
  type PolicyErrorCode,
  type Problem,
  pipeline,
  policy,
  type Quota,
  type LimitRate,
  type Rate,
  type RateLimiter,
  type RateLimiterFactory,
  type RateLimiterOptions,
  type Reason,
  RejectedError,
  type Rejection,
  type ResilientFetch,
  type ResultHooks,
  type Runs,
  type Retry,
  type RetryAfterReader,
  type RetryOptions,
  rateLimiter,
  resilientFetch,
  retry,
  type Share,
  type Snapshot,
  type Step,
  type StepSettings,
  type Success,
  systemClock,
  type Task,
  type Timeout,
  TimeoutError,
  type TimeoutOptions,
  timeout,
  type Verdict,
  type Wrapped,
  wrap,
  type BlockOptions,
  type BlockTime,
  type WarmUpOptions,
  type Source,
  type BulkheadStepOptions,
  type Cost,
  type Defaults,
  type ExtendingPolicy,
  type PassingPolicy,
  type RetryStepOptions,
  type Sections,
  type SteppedPolicy,
  type Budget,
  type EndedAttempt,
  type DelayReader,
  type Condition,
  type ConditionCase,
  type Use,
} from '@sluice/core';
import * as breakers from '@sluice/core/breaker';
import * as limiters from '@sluice/core/limiter';
import * as retries from '@sluice/core/retry';
import { init, initSync, type ModuleSource } from '@sluice/core/slim';
import {
  type EvaluateOptions,
  type Event,
  EventError,
  evaluate,
  type LogDecision,
  type Time,
  type VirtualClock,
  virtualClock,
  RequirementError,
  Simulation,
  type ClientResult,
  type Distribution,
  type Fault,
  type Latency,
  type Scenario,
  type ScenarioClient,
  type ScenarioService,
  type ServiceResult,
  type SimulationResult,
  type Values,
  type SimulationVerdict,
  ScenarioError,
  type SimulateOptions,
  simulate,
} from '@sluice/core/testing';

/** Whether two types are the same, for results whose type is inferred. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <_ extends true>(): void => {};

const virtual: VirtualClock = virtualClock(0);
const clock: Clock = systemClock();
const { signal } = new AbortController();

const rate: Rate = '50/1m';
const monthly: readonly LimitRate[] = ['1000/day', '5/week', '10000/month', rate];
const every: readonly Rate[] = ['1/s', '0.5/1s', '1000/1h30m', `${rate}`];
const durations: readonly Duration[] = ['250ms', '1m30s', '1d12h', '0s', '1.5s'];
const share: Share = '0.5%';
const common: CommonOptions = { name: 'vendor', shadow: false, clock: virtual };
const cost: CostOptions = { cost: 2, signal };
const call: CallOptions = { signal };

const limiterOptions: RateLimiterOptions = {
  ...common,
  rate,
  algorithm: 'token-bucket',
  burst: 10,
  wait: '3s',
  queue: 100,
  order: 'newest',
};
const limiter: RateLimiter = rateLimiter(limiterOptions);
const factory: RateLimiterFactory = rateLimiter;
const verdict: Verdict = limiter.tryAcquire({ cost: 2 });
if (verdict.ok) {
  const admission: Admission & LimiterAdmission = verdict;
  console.log(admission.remaining, admission.reset);
} else {
  const rejection: Rejection = verdict;
  const reason: Reason = rejection.reason;
  const after: number | undefined = rejection.retryAfter;
  console.log(reason, after, rejection.step);
}
export const inTime: Promise<Verdict> = limiter.acquire(cost);
const dry: Verdict = limiter.peek();
export const number: Promise<number> = limiter.execute(() => 1, cost);
const value = await limiter.attempt(async () => 'text', call);
same<Same<typeof value, Success<string> | Rejection>>();

const keyedOptions: KeyedRateLimiterOptions = { rate, keys: 10, when_full: 'share' };
const keyed: KeyedRateLimiter = factory.keyed(keyedOptions);
const ofKey: KeyedOptions = { key: 'a', cost: 1, signal };
keyed.tryAcquire('a', { cost: 1 });
const counts: KeyCounts = keyed.counts;
console.log(counts.keys, counts.evictions, counts.shared);
export const byKey: Promise<Verdict> = keyed.acquire('a', cost);
export const ran: Promise<boolean> = keyed.execute(() => keyed.size > 0, ofKey);

const left: Quota = keyed.quota('a');
console.log(left.step, left.limit, left.remaining, left.next, left.reset, left.rate[0], limiter.quota().rate);
console.log([...keyed.keys()], keyed.has('a'), keyed.reset('a'), keyed.evict('a'));
limiter.reset();

const backoffs: readonly Backoff[] = [
  { constant: '1s' },
  { linear: '1s', max: '10s' },
  { exponential: '100ms', factor: 3, max: '10s' },
  { fibonacci: '1s' },
  { decorrelated: '1s' },
];
const jitters: readonly Jitter[] = ['none', 'full', 'equal', '20%'];
const classifier: Classifier = {
  outcome: (error, value): Outcome => (error || value === undefined ? 'fail' : 'ok'),
};
const breakerOptions: CircuitBreakerOptions = {
  ...classifier,
  window: { time: '1m', buckets: 6 },
  minimum: 20,
  failure_rate: '50%',
  slow: { over: '2s', rate: share },
  open: { exponential: '1s', jitter: 'full' },
  probes: 3,
  half_open_max: '1m',
};
const breaker: CircuitBreaker = circuitBreaker(breakerOptions);
circuitBreaker({ window: { consecutive: 5 } });
circuitBreaker({ window: { consecutive: 5, forget: '60s' } });
circuitBreaker({ window: { calls: 100 } });
const state: BreakerState = breaker.state;
const pass: BreakerPass | Rejection = breaker.tryAcquire();
if (pass.ok) {
  pass.success();
  pass.failure();
  pass.ignore();
}
breaker.transition('forced-open');
breaker.reset();

const tokens: CostAttribute = 'header:x-tokens';
const counted: CountedOutcome[] = ['ok', 'fail'];
const tokensOptions: LimitOptions = { rate: '100000/1m', cost: { attribute: tokens, default: 2000 }, charge: 'settle', counts: counted };

const placesOptions: BulkheadOptions = { concurrent: 5, queue: 10, wait: '1s', order: 'oldest', lease: '1m' };
const places: Bulkhead = bulkhead(placesOptions);
const place: Permit | Rejection = await bulkhead(5).acquire(call);
if (place.ok) {
  place.renew();
  place.release();
}

const placeCounts: BulkheadCounts = places.counts;
console.log(placeCounts.running, placeCounts.queued, placeCounts.free);
const few: KeyedSettings = { keys: 100, when_full: 'evict' };
const hostOptions: KeyedCircuitBreakerOptions = { ...few, window: { calls: 20 } };
const breakerFactory: CircuitBreakerFactory = circuitBreaker;
const hosts: KeyedCircuitBreaker = breakerFactory.keyed(hostOptions);
const ofHost: KeyedCallOptions = { key: 'a.example', signal };
export const fromHost: Promise<number> = hosts.execute(() => 1, ofHost);
console.log(hosts.state('a'), hosts.transition('a', 'closed'), hosts.keys(), hosts.evict('a'));
const tenantOptions: KeyedBulkheadOptions = { ...few, concurrent: 5 };
const bulkheadFactory: BulkheadFactory = bulkhead;
const tenants: KeyedBulkhead = bulkheadFactory.keyed(tenantOptions);
console.log(tenants.counts('a').queued, tenants.peek('a').ok, tenants.reset('a'));

const reader: RetryAfterReader = { retryAfter: (error, value) => (error || value ? 1_000 : undefined) };
const retryOptions: RetryOptions = {
  ...reader,
  attempts: 3,
  backoff: 'none',
  jitter: 'full',
  budget: { ratio: '20%', minimum: '10/1m', window: '10s' },
};
const again: Retry = retry(retryOptions);
retry(3);
retry();
const task: Task<number> = (running: Attempt) => {
  running.renew();
  return running.signal.aborted || running.hedge ? 0 : running.attempt;
};
export const third: Promise<number> = again.execute(task, call);

const cutOptions: TimeoutOptions = { after: '10s', name: 'whole' };
const cut: Timeout = timeout(cutOptions);
timeout('10s');
export const cutOrNot: Promise<Success<void> | Rejection> = cut.attempt(() => {});

const settings: StepSettings = {
  name: 'by-tenant',
  shadow: true,
  per: ['key', 'header:x-tenant'],
  scope: 'local',
  keys: 1_000,
  when_full: 'share',
  missing: 'deny',
};
const shared: Runs = breaker;
const both: Wrapped = wrap(again, shared, cut);
export const wrapped: Promise<number> = both.execute(task, { signal });
const race: Hedge = hedge({ after: '50ms', name: 'race' });
export const raced: Promise<boolean> = race.execute((running) => running.hedge);

const methods: Methods = ['GET', 'POST'];
const slower: HedgeOptions = { after: 'p95', samples: 50, minimum: 10, max: 2, budget: '10%', methods };
const atOnce: Step = { hedge: { parallel: true, max: 3, name: 'race' } };
const rising: AdaptiveOptions = { initial: 10, maximum: 50, decrease: '20%', over: '1s', tolerance: '20%', lease: '1m', cost: 'header:x-size' };
const ofTheTime: AdaptiveOptions = { over: '40%' };
pipeline([atOnce, { adaptive: rising }]);
pipeline([{ timeout: '1s' }, { adaptive: ofTheTime }]);
const drill: ChaosOptions = { fail: '5%', slow: { rate: '10%', by: '200ms', to: '2s' } };
pipeline([{ retry: 3 }, { chaos: { ...drill, throttle: { rate: '1%', retry_after: '2s' }, shadow: true } }]);
const attribute: Attribute = 'query:tenant';
const steps: readonly Step[] = [
  { timeout: '30s' },
  { retry: { attempts: 3, backoff: { exponential: '500ms' }, methods: ['GET'] } },
  { breaker: { window: { calls: 100 }, failure_rate: '50%' } },
  { hedge: slower },
  { limit: { ...settings, rate: '50/1m', per: attribute } },
  { limit: tokensOptions },
  { limit: '1000/1h' },
  { bulkhead: 5 },
  { timeout: { after: '10s', soft: '5s' } },
];
const failures: HttpClass = ['5xx', 429, 'connect', 'reset', 'timeout'];
const one: Policy = { steps, fallback: { status: 503, body: 'later' }, outcomes: { fail: failures } };
const document: PolicyDocument = { version: 1, policies: { vendor: one } };
const hooks: ResultHooks = {
  ...classifier,
  ...reader,
  fallback: () => 1,
  discard: (value) => console.log(value),
};
const pipelineOptions: PipelineOptions = { ...hooks, name: 'vendor', clock };
const vendor: Pipeline = policy(document, pipelineOptions);
policy(one);
policy('{"steps":[]}', 'vendor');
const attributes: Attributes = { 'header:x-tenant': 'a' };
const callOptions: PipelineCallOptions = { ...cost, key: 'a', attributes, deadline: 1_000, hedge: false };
const answer = await pipeline(steps).attempt(() => ({ id: 1 }), {
  ...callOptions,
  attributes: (name) => name,
});
same<Same<typeof answer, Success<{ id: number }> | Rejection>>();
vendor.configure(steps);
const inForce: Policy = vendor.policy;

const step: PipelineStep = vendor.step('breaker');
console.log(step.name, step.mechanism, step.keys(), step.state(), step.transition('open'), step.peek().ok);
console.log(step.reset(), step.evict('a'), vendor.step('bulkhead').counts('a').free, vendor.running);
const held: PipelinePass | Rejection = vendor.tryAcquire(callOptions);
if (held.ok) {
  console.log(held.signal.aborted, held.quotas satisfies readonly Quota[]);
  held.failure(new Error('mine'));
  held.success();
  held.throttle();
  held.throttle(new Error('busy'));
  held.ignore();
  held.renew();
}
export const later: Promise<PipelinePass | Rejection> = vendor.acquire();
export const idle: Promise<void> = vendor.drain();
export const over: Promise<void> = vendor.stop();
const snapshot: Snapshot = vendor.snapshot();
const found: string[] = vendor.restore(snapshot);
const took: boolean = limiter.restore(JSON.parse(JSON.stringify(limiter.snapshot())));

const listener: Listener = (decision: Decision) => console.log(decision.kind, decision.at, decision.state);
const off: () => void = breaker.on('change', listener);
limiter.on(listener);
vendor.on('end', ({ outcome, attempt, won, duration, error }) => console.log(outcome, attempt, won, duration, error));
vendor.on('retry', ({ delay, until }) => console.log(delay, until));
off();

const fetchOptions: FetchOptions = { fetch, name: 'vendor', clock, key: (input) => String(input) };
const get: ResilientFetch = resilientFetch(document, fetchOptions);
export const response: Promise<Response> = get('https://example.com/', { method: 'PUT', signal });
const through: Pipeline = resilientFetch(vendor).pipeline;
resilientFetch(steps) satisfies typeof fetch;

try {
  await vendor.execute(() => 1);
} catch (error) {
  if (error instanceof RejectedError)
    console.log(error.step, error.reason satisfies Reason, error.retryAfter);
  if (error instanceof TimeoutError) console.log(error.step);
  if (error instanceof InjectedError) console.log(error.step, error.outcome satisfies Outcome, error.retryAfter);
  if (error instanceof HedgeLostError) console.log(error.step, error.won);
  if (error instanceof PolicyError) {
    const code: PolicyErrorCode = error.code;
    const problems: readonly Problem[] = error.problems;
    console.log(code, problems[0]?.path, problems[0]?.nearest);
  }
  if (error instanceof EventError) console.log(error.line);
}

const at: Time = '1.5s';
const events: Event[] = [
  { at, op: 'call', id: 1, key: 'a', cost: 1, attributes: { path: '/' }, deadline: 5 },
  { at: 2_000_000_000n, op: 'done', id: 1, outcome: 'throttle', retry_after: '1s' },
  { at: 3, op: 'renew', id: 'x' },
  { at, op: 'cancel', id: 1 },
  { at, op: 'tick' },
  { at, op: 'configure', policy: one },
];
const evaluateOptions: EvaluateOptions = { name: 'vendor', seed: 7n };
const log: LogDecision[] = evaluate(document, events, evaluateOptions);
await virtual.advance(virtual.timers);

const blockTime: BlockTime = { exponential: '1m', max: '1h' };
const block: BlockOptions = { after: 5, for: blockTime };
const warmUp: WarmUpOptions = { over: '30s', factor: 3 };
const size: Cost = { attribute: 'header:x-size', default: 1 };
const bySize: BulkheadStepOptions = { cost: size };
const quota: Budget = { tokens: 500 };
const retried: RetryStepOptions = { methods: ['GET'] };
const paced: DelayReader = { delay: ({ attempt, error }: EndedAttempt) => (error ? attempt * 100 : 0) };
const stepped: SteppedPolicy<Step> = { steps: [{ limit: { rate: '5/1m', block } }, { bulkhead: { concurrent: 5, ...bySize } }] };
const passing: PassingPolicy = { pass: true };
const extending: ExtendingPolicy<Step> = { extends: 'stepped', add: [{ limit: { rate: '9/1s', warm_up: warmUp } }] };
const defaults: Defaults = { retry: { budget: quota, ...retried } };
const inside: ConditionCase = { ip: '10.0.0.0/8' };
export const here: Condition = [inside];
export const used: Use = { mechanism: 'vendor-limit' };
const sections: Sections = { version: 1, http: { default: 'deny' } };
export const written: Source = { defaults, ...sections, policies: { stepped, passing, extending } };
export const delayed = retry(paced);

const source: ModuleSource = fetch('/core.wasm');
export const ready: Promise<void> = init(source);
initSync(new Uint8Array());

const times: Distribution[] = ['20ms', { lognormal: { median: '20ms', sigma: 1 } }, { uniform: ['1ms', '9ms'] }];
const keys: Values = { zipf: { n: 100, s: 1.1 } };
const client: ScenarioClient = { name: 'web', to: 'vendor', arrivals: { poisson: '100/s' }, policy: 'vendor', key: keys };
const fault: Fault = { at: '10s', for: '5s', slow: 4 };
const service: ScenarioService = { name: 'vendor', time: times[1] ?? '1ms', faults: [fault] };
const scenario: Scenario = {
  version: 1,
  duration: '1m',
  policies: { vendor: { steps: [{ retry: 3 }, { breaker: {} }] } },
  clients: [client],
  services: [service],
};
const seeds: SimulateOptions = { seeds: [1, 2n] };
export async function simulated(): Promise<readonly [SimulationVerdict, Latency | undefined, number | undefined]> {
  try {
    const runs: Simulation = await simulate(scenario, seeds);
    const result: SimulationResult = runs.client('web').requireSteady().requireMaxLatency(99, '1s').result;
    const web: ClientResult | undefined = result.clients.web;
    const vendor: ServiceResult | undefined = result.services.vendor;
    return [result.verdict, web?.latency, vendor?.wasted];
  } catch (error) {
    if (error instanceof ScenarioError || !(error instanceof RequirementError)) throw error;
    return ['metastable', undefined, error.found.length];
  }
}

const small: limiters.RateLimiter = limiters.rateLimiter('1/1s');
const smallBreaker: breakers.CircuitBreaker = breakers.circuitBreaker();
const smallRetry: retries.Retry = retries.retry();
limitMemory(2 ** 28);
const memory: MemoryUsage = memoryUsage();
const apart: InstanceOption[] = ['shared', 'own', { limit: 2 ** 26 }];
const own = limiters.rateLimiter({ rate: '1/1s', instance: 'own' });
export const all: readonly unknown[] = [
  memory,
  apart,
  own,
  every,
  durations,
  dry,
  backoffs,
  jitters,
  state,
  places,
  inForce,
  found,
  took,
  through,
  log,
  small,
  smallBreaker,
  smallRetry,
];
