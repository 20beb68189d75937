import { circuitBreaker } from '@sluice/core';

const breaker = circuitBreaker({
  window: { time: '1m', buckets: 6 },
  minimum: 20,
  slow: { over: '2s', rate: '80%' },
  open: { exponential: '10s', max: '5m' },
  outcome: (error, value) => (error ? 'fail' : (value as Response).status === 429 ? 'throttle' : 'ok'),
});
breaker.on('change', ({ state }) => console.log(state));
const result = await breaker.attempt(() => fetch('https://example.com/'));
if (!result.ok) console.log(`open for another ${result.retryAfter} ms`);

const pass = breaker.tryAcquire(); // or by hand
if (pass.ok) pass.success();
