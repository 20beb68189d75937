import { retry } from '@sluice/core';

const retries = retry({ attempts: 4, backoff: { decorrelated: '100ms', max: '5s' }, budget: '20%' });
await retries.execute(({ attempt, signal }) => fetch(`https://example.com/?try=${attempt}`, { signal }));
