import { bulkhead } from '@sluice/core';

const places = bulkhead({ concurrent: 5, queue: 100, wait: '5s' });
await places.execute(async () => 'one of five');

const permit = await places.acquire();
if (permit.ok) permit.release();
