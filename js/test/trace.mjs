// Runs calls under policies in virtual time and prints the trace of each in JSON, with its document where it has one: for trace_test.go.

import { pipeline, policies } from '@sluice/core';
import { virtualClock } from '@sluice/core/testing';
import { trace } from '@sluice/core/trace';

const [seed] = process.argv.slice(2).map(Number);

/** Numbers from 0 to 1, equal for equal seeds. */
let state = seed >>> 0;
const draw = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
// The seeds of jitter, too.
Math.random = draw;
const whole = (most) => Math.floor(draw() * most);

const alone = [
  [{ limit: { rate: '5/1s', wait: '300ms', queue: 3 } }],
  [
    { limit: { rate: '9/2s', algorithm: 'fixed-window', per: 'key' } },
    { limit: { rate: '9/1s', algorithm: 'sliding-log', class: 'header:x-n', rates: { 1: '3/1s' } } },
  ],
  [{ limit: { rate: '20/1s', charge: 'settle', cost: 'header:x-n' } }, { timeout: '300ms' }],
  [
    { retry: { attempts: 3, backoff: { exponential: '50ms' }, budget: '50%' } },
    { breaker: { window: { time: '1s', buckets: 4 }, minimum: 3, open: '400ms', probes: 1 } },
    { timeout: '200ms' },
  ],
  [{ retry: { attempts: 4, refusals: 'wait', backoff: { constant: '20ms' } } }, { limit: '4/1s' }],
  [
    { timeout: '700ms' },
    { hedge: { after: '80ms', max: 2 } },
    { bulkhead: { concurrent: 3, queue: 2, lease: '250ms' } },
  ],
  [{ adaptive: { initial: 2, maximum: 4 } }, { chaos: { fail: '20%', slow: { rate: '20%', by: '30ms' } } }],
  [
    { limit: { rate: '3/1s', when: { key: 'a' }, block: '500ms' } },
    { bulkhead: { concurrent: 2, queue: 4, wait: '200ms', enforce: { share: '50%', by: 'header:x-n' } } },
  ],
];

const shared = {
  version: 1,
  mechanisms: {
    vendor: { bulkhead: { concurrent: 2, queue: 3 } },
    rate: { limit: { rate: '9/1s', per: 'key' } },
  },
  policies: {
    read: { steps: [{ use: 'rate' }, { use: 'vendor' }, { timeout: '250ms' }] },
    write: { steps: [{ retry: { attempts: 2, jitter: 'none' } }, { use: 'vendor' }] },
  },
};

async function record(make, change, document) {
  const clock = virtualClock(draw() * 1e7);
  let text = '';
  const recording = trace((lines) => {
    text += lines;
  });
  const all = make({ clock, trace: recording });
  const sleep = (milliseconds) => new Promise((resolve) => clock.setTimeout(resolve, milliseconds));
  for (let i = 0; i < 60; i++) {
    const gone = new AbortController();
    all[whole(all.length)]
      .attempt(
        async ({ used, renew }) => {
          await sleep(whole(400));
          if (draw() < 0.2) renew();
          if (draw() < 0.5) used(whole(4));
          if (draw() < 0.35)
            throw Object.assign(new Error('no'), draw() < 0.3 && { retryAfter: whole(90) - 10 });
        },
        {
          key: ['', 'a', 'b'][whole(3)],
          attributes: { 'header:x-n': String(whole(4)) },
          cost: 1 + whole(2),
          ...(draw() < 0.2 && { deadline: 50 + whole(800) }),
          signal: gone.signal,
        },
      )
      .catch(() => {});
    if (draw() < 0.15) clock.setTimeout(() => gone.abort(new Error('gone')), whole(300));
    if (i === 30) change?.(all);
    await clock.advance(draw() * 150);
  }
  await clock.advance(100_000);
  recording.stop();
  console.log(JSON.stringify({ text, document }));
}

for (const [i, steps] of alone.entries()) {
  await record(
    (options) => [pipeline(steps, options)],
    i % 2 ? ([one]) => one.configure(alone[(i + 2) % alone.length]) : undefined,
  );
}
await record((options) => Object.values(policies(shared, options)), undefined, shared);
