// node test/differential.mjs: runs programs through the package in virtual time, and answers what
// happened. A line of JSON each, in and out. A program is a policy with a log of events (see
// execute), or guards around each other with calls and actions (see nested).

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';

const root = new URL('..', import.meta.url).pathname;
const { outputFiles } = await build({
  stdin: {
    contents: `
      export * from './src/entry/inline.js';
      export { virtualClock } from './src/testing/virtual-clock.js';
      export { durationText, nanosecondsOf } from './src/testing/durations.js';`,
    resolveDir: root,
  },
  plugins: [
    {
      name: 'inline',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^inline:/ }, ({ path }) => ({ path: path.slice(7), namespace: 'inline' }));
        onLoad({ filter: /.*/, namespace: 'inline' }, ({ path }) => ({
          contents: readFileSync(`${root}../wasm/${path}.wasm`),
          loader: 'binary',
        }));
      },
    },
  ],
  // The entry starts the module, which the package's own annotations do not say of the sources.
  ignoreAnnotations: true,
  bundle: true,
  write: false,
  format: 'esm',
  target: 'es2022',
});
const sluice = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
);
const { virtualClock, durationText, nanosecondsOf } = sluice;

// The seed of all jitter is 0, as in the other runtime.
Math.random = () => 0;
// Errors of hooks and listeners are printed once, which is not what is compared.
console.error = () => {};

const settled = () => new Promise((resolve) => setImmediate(resolve));
const textOf = (millis) => durationText(BigInt(Math.round(millis * 1e6)));

/** The least milliseconds of which the nanoseconds are not fewer, as the module reads them. */
function millisOf(duration) {
  const exact = Number(nanosecondsOf(duration));
  let millis = exact / 1e6;
  while (Math.trunc(millis * 1e6) < exact) millis += Math.abs(millis) * Number.EPSILON;
  return millis;
}

/** Lets the time of a clock pass up to a mark. */
async function pass(clock, at) {
  const now = clock.now();
  if (at <= now) return settled();
  let by = at - now;
  while (now + by < at) by += at * Number.EPSILON;
  await clock.advance(by);
}

/** A decision as a line of the decision log. */
function lineOf({ kind, at, key, attempt, step, reason, outcome, until, retryAfter, won, dropped, shadow, fallback, soft }) {
  return JSON.stringify({
    at: textOf(at),
    id: key,
    decision: kind,
    outcome,
    attempt: kind === 'reject' || kind === 'expire' ? undefined : attempt,
    step,
    reason,
    won,
    until: until === undefined ? undefined : textOf(until),
    retry_after: retryAfter === undefined ? undefined : textOf(retryAfter),
    dropped,
    shadow,
    fallback,
    soft,
  });
}

/** An error that means what an event says. */
function told({ outcome, retry_after }) {
  const error = new Error('wish');
  error.wish = outcome;
  if (retry_after !== undefined) error.retryAfter = millisOf(retry_after);
  return error;
}

const wished = (error) => error?.wish ?? (error === undefined ? 'ok' : 'fail');

/** Runs a log of events under a policy: the driver performs it, and each function does what the log says. */
async function execute({ policy: document, events }) {
  const clock = virtualClock();
  const calls = sluice.policy(document, { clock, outcome: wished });
  const lines = [];
  const live = new Map();
  let over = false;
  calls.on((decision) => {
    if (!over) lines.push(lineOf(decision));
  });
  const task = (actor) => (attempt) =>
    new Promise((resolve, reject) => {
      const { attempt: number } = attempt;
      actor.running.set(number, {
        done(event) {
          actor.running.delete(number);
          if (event.used !== undefined) attempt.used(event.used);
          if (event.outcome === 'ok') resolve(number);
          else reject(told(event));
        },
        renew: attempt.renew,
      });
      attempt.signal.addEventListener('abort', () => {
        actor.running.delete(number);
        reject(attempt.signal.reason);
      });
    });
  const apply = {
    call({ id, key, cost, attributes, deadline }) {
      const actor = { controller: new AbortController(), running: new Map() };
      live.set(id, actor);
      const options = { key, cost, attributes, signal: actor.controller.signal };
      if (deadline !== undefined) options.deadline = millisOf(deadline);
      calls.attempt(task(actor), options).catch(() => {});
    },
    cancel: ({ id }) => live.get(id)?.controller.abort(new Error('gone')),
    done: (event) => running(event)?.done(event),
    renew: (event) => running(event)?.renew(),
    configure: ({ policy }) => calls.configure(policy),
    tick() {},
  };
  const running = ({ id, attempt }) => {
    const all = live.get(id)?.running ?? new Map();
    return all.get(attempt || Math.min(...all.keys()));
  };
  for (const event of events) {
    await pass(clock, millisOf(event.at));
    // Timers have whole milliseconds, and the log does not.
    calls.driver.wake();
    await settled();
    apply[event.op](event);
    await settled();
  }
  over = true;
  for (const { controller } of live.values()) controller.abort(new Error('over'));
  await settled();
  const left = calls.running;
  calls.dispose();
  return { lines, left };
}

for await (const line of createInterface({ input: process.stdin })) {
  const program = JSON.parse(line);
  let answer;
  try {
    answer = await execute(program);
  } catch (error) {
    answer = { error: error.stack.replace(/data:[^ )]*/g, '') };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
