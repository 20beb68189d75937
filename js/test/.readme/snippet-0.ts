import { pipeline } from '@sluice/core';

const vendor = pipeline([
  { timeout: '30s' }, // the whole call, waits included
  { retry: { attempts: 3, backoff: { exponential: '500ms' }, jitter: 'full' } },
  { breaker: { window: { calls: 100 }, failure_rate: '50%', open: '30s' } },
  { limit: { rate: '50/1m', burst: 10, wait: '3s' } },
  { timeout: '10s' }, // each attempt
]);

const answer = await vendor.execute(({ signal }) => fetch('https://example.com/', { signal }));
