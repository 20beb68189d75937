import { policy, resilientFetch } from '@sluice/core';

const document = {
  version: 1,
  policies: {
    vendor: {
      steps: [{ retry: 3 }, { limit: { rate: '10/1s', per: 'host' } }, { timeout: '5s' }],
      fallback: { status: 503, body: 'try later' },
    },
  },
} as const;

const vendor = policy(document, 'vendor');
await vendor.execute(() => 'anything', { key: 'tenant-a', deadline: 20_000 });
vendor.configure({ ...document }); // steps keep their state by name

const get = resilientFetch(document, { name: 'vendor' });
const answer = await get('https://example.com/');
