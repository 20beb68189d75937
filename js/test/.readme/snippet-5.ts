import { timeout, TimeoutError } from '@sluice/core';

try {
  await timeout('10s').execute(({ signal }) => fetch('https://example.com/', { signal }));
} catch (error) {
  if (error instanceof TimeoutError) console.log(`${error.step} cut it`);
}
