import { pipeline } from '@sluice/core';
import { evaluate, virtualClock } from '@sluice/core/testing';

const clock = virtualClock();
const calls = pipeline([{ retry: 3 }, { timeout: '1s' }], { clock });
const result = calls.attempt(() => new Promise(() => {}));
await clock.advance(60_000);
console.log(await result);

const log = evaluate({ steps: [{ limit: '1/1s' }] }, [
  { at: '0s', op: 'call', id: 1 },
  { at: '100ms', op: 'call', id: 2 },
]);
console.log(log); // what `sluice eval` prints, as objects
