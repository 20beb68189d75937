/** What `exercise` reports, on every runtime. */
export const REPORT = {
  limiter: [
    { ok: true },
    { ok: true },
    { ok: false, step: 'limit', reason: 'rate', retryAfter: 500 },
    { ok: false, step: 'limit', reason: 'rate', retryAfter: 500 },
  ],
  waited: [{ ok: true }, 'left', 500],
  events: ['admit', 'admit', 'reject', 'wait', 'wait', 'admit'],
  keyed: [true, false, true, 2],
  restored: [true, false],
  shadow: [true, true],
  breaker: [
    'closed',
    'open',
    { ok: false, step: 'breaker', reason: 'open', retryAfter: 10_000 },
    'half-open',
    'up',
    'closed',
  ],
  bulkhead: [true, { ok: false, step: 'bulkhead', reason: 'full' }, true],
  retry: [3, 2_000],
  timeout: [true, 'timeout', true],
  pipeline: [true, 'vendor', 'rate', 60_000],
  byHand: [true, 'full', { running: 1, queued: 1, free: 0 }, 'open', ['breaker', 'open'], 'open', 0],
  keyedBreaker: ['open', 'closed', ['a'], true],
  policy: [{ ok: true, value: 1 }, 'rate'],
  fetch: [503, 'later', 1],
  evaluate: [
    { at: '0s', id: 1, decision: 'admit', attempt: 1 },
    { at: '1s', id: 1, decision: 'end', outcome: 'ok', attempt: 1 },
    {
      at: '2s',
      id: 2,
      decision: 'reject',
      step: 'vendor',
      reason: 'rate',
      retry_after: '58s',
      fallback: true,
    },
  ],
  error: [true, 'bad-policy', 'limit.brust', 'burst'],
  clock: 'number',
};

/** The values that the default entry exports; `./slim` has them too. */
export const CORE = [
  'HedgeLostError',
  'InjectedError',
  'PolicyError',
  'RejectedError',
  'TimeoutError',
  'bulkhead',
  'circuitBreaker',
  'hedge',
  'limitMemory',
  'memoryUsage',
  'pipeline',
  'policies',
  'policy',
  'rateLimiter',
  'resilientFetch',
  'retry',
  'systemClock',
  'timeout',
  'wrap',
];

/** The values that `./testing` exports. */
export const TESTING = [
  'EventError',
  'RequirementError',
  'ScenarioError',
  'Simulation',
  'evaluate',
  'simulate',
  'virtualClock',
];
