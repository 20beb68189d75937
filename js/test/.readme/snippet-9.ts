import { pipeline } from '@sluice/core';

const vendor = pipeline([
  { timeout: '30s' },
  { retry: { attempts: 3, backoff: { exponential: '500ms' }, budget: '20%' } },
  { breaker: { window: { calls: 100 }, minimum: 20, failure_rate: '50%', open: '30s' } },
  { limit: { rate: '50/1m', burst: 10, wait: '3s' } },
  { timeout: '10s' },
]);
const answer = await vendor.attempt(({ signal }) => fetch('https://vendor.example', { signal }));
if (!answer.ok) console.log(answer.step, answer.reason, answer.retryAfter);
