// node test/differential.mjs: runs programs through the package in virtual time, and answers what
// happened. A line of JSON each, in and out. A program is a policy with a log of events (see
// execute), or guards around each other with calls and actions (see nested).

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';

const root = new URL('..', import.meta.url).pathname;
/** Whether the timers of the sources are exact. */
let exact = false;
const { outputFiles } = await build({
  stdin: {
    contents: `
      export * from './src/entry/inline.js';
      export { virtualClock } from './src/testing/virtual-clock.js';
      export { durationText, nanosecondsOf } from './src/base/durations.js';`,
    resolveDir: root,
  },
  plugins: [
    {
      name: 'inline',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^inline:/ }, ({ path }) => ({ path: path.slice(7), namespace: 'inline' }));
        // A virtual clock calls back at any mark, and the whole milliseconds of timers are no part of what is compared.
        onLoad({ filter: /src\/base\/wakes\.ts$/ }, ({ path }) => {
          const text = readFileSync(path, 'utf8');
          const contents = text.replace('Math.ceil(due - clock.now())', 'due - clock.now()');
          if (contents === text) throw new Error('wakes.ts rounds otherwise');
          exact = true;
          return { contents, loader: 'ts' };
        });
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
if (!exact) throw new Error('no wakes.ts');
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
function lineOf({
  kind,
  at,
  key,
  attempt,
  step,
  reason,
  outcome,
  until,
  retryAfter,
  won,
  dropped,
  shadow,
  fallback,
  soft,
}) {
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

/** A mark or a span in milliseconds, to the microsecond. */
const shown = (millis) => String(Math.round(millis * 1e3) / 1e3);

/** What of a decision is compared. */
function factsOf({
  kind,
  at,
  attempt,
  step,
  reason,
  outcome,
  until,
  retryAfter,
  won,
  shadow,
  fallback,
  soft,
  state,
}) {
  const refused = kind === 'reject' || kind === 'expire';
  const words = [shown(at), kind];
  if (attempt && !refused) words.push(attempt);
  for (const word of [step, outcome, reason, state]) if (word) words.push(word);
  if (kind === 'retry') words.push('until', shown(until));
  if (kind === 'reject' && retryAfter !== undefined) words.push('after', shown(retryAfter));
  if (won) words.push('won', won);
  for (const [word, is] of Object.entries({ shadow, fallback, soft })) if (is) words.push(word);
  return words.join(' ');
}

/** How a call ended. */
function resultOf(error) {
  const { name, step, reason, retryAfter, outcome } = Object(error);
  if (name === 'RejectedError') {
    const after = retryAfter === undefined ? '' : ` after ${shown(retryAfter)}`;
    return `rejected ${step} ${reason}${after}`;
  }
  if (name === 'TimeoutError') return `timeout ${step}`;
  if (name === 'InjectedError') return `error ${outcome}`;
  return error === GONE ? 'cancelled' : `error ${error}`;
}

const GONE = new Error('gone');

const MADE = {
  pipeline: (body, options) => sluice.policy(body, options),
  limit: (body, options) => sluice.rateLimiter({ ...body, ...options }),
  breaker: (body, options) => sluice.circuitBreaker({ ...body, ...options }),
  bulkhead: (body, options) => sluice.bulkhead({ ...body, ...options }),
  retry: (body, options) => sluice.retry({ ...body, ...options }),
};

/** The predicates of a program. Wrong ones leave the default in place. */
const HOOKS = {
  throws() {
    throw new Error('hook');
  },
  strange: () => 'nothing',
  fail: (error) => (error === undefined ? undefined : 'fail'),
  throttle: (error) => (error === undefined ? undefined : 'throttle'),
  ignore: (error) => (error === undefined ? undefined : 'ignore'),
};

/** Runs calls under guards around each other. What an attempt ends with is an error that says so itself. */
async function nested({ guards, calls, actions, until }) {
  const clock = virtualClock();
  const lines = {};
  let over = false;
  const note = (where, text) => {
    if (over) return;
    lines[where] ??= [];
    lines[where].push(text);
  };
  const objects = guards.map(({ kind, body, hook, listener, fallback }, i) => {
    const options = { clock };
    if (hook) options.outcome = HOOKS[hook];
    if (fallback) options.fallback = () => -1;
    const made = MADE[kind](body, options);
    if (listener) {
      made.on(() => {
        throw new Error('listener');
      });
    }
    made.on((decision) => {
      note(
        `${i} ${decision.kind === 'change' ? 'change' : (decision.key ?? '')}`,
        factsOf(kind === 'pipeline' ? decision : { ...decision, step: undefined }),
      );
    });
    return made;
  });
  const controllers = [];
  const begin = (call) => {
    const { id, chain, wrap, cost, deadline, attempts, cancel } = call;
    const controller = new AbortController();
    controllers.push(controller);
    const entered = chain.map(() => 0);
    let tries = 0;
    const work = ({ signal }) =>
      new Promise((resolve, reject) => {
        const { takes, outcome, after } = attempts[Math.min(tries++, attempts.length - 1)];
        clock.setTimeout(() => {
          if (outcome === 'ok') resolve(1);
          else {
            const error = Object.assign(new Error('wish'), { name: 'InjectedError', outcome });
            if (after) error.retryAfter = after;
            reject(error);
          }
        }, takes);
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const layer = (i, signal) => {
      const at = chain[i];
      const options = { signal };
      if (guards[at].kind === 'pipeline') {
        options.key = `${id}#${entered[i]++}`;
        if (cost !== 1) options.cost = cost;
        if (i === 0 && deadline) options.deadline = deadline;
      }
      return objects[at].execute(
        (attempt) => (i + 1 < chain.length ? layer(i + 1, attempt.signal) : work(attempt)),
        options,
      );
    };
    if (cancel) clock.setTimeout(() => controller.abort(GONE), cancel);
    const running = wrap
      ? sluice.wrap(...chain.map((at) => objects[at])).execute(work, { signal: controller.signal })
      : layer(0, controller.signal);
    running.then(
      (value) => note(`call ${id}`, `${shown(clock.now())} ok ${value}`),
      (error) => note(`call ${id}`, `${shown(clock.now())} ${resultOf(error)}`),
    );
  };
  const act = ({ guard, op, step, to, body }) => {
    const object = objects[guard];
    try {
      const at = step ? object.step(step) : object;
      if (op === 'configure') object.configure(body);
      else if (op === 'transition') at.transition(to);
      else at.reset();
    } catch {
      note('actions', `${shown(clock.now())} failed`);
    }
  };
  for (const call of calls) clock.setTimeout(() => begin(call), call.at);
  for (const action of actions) clock.setTimeout(() => act(action), action.at);
  await clock.advance(until);
  over = true;
  for (const controller of controllers) controller.abort(GONE);
  await settled();
  const left = objects.reduce((sum, { running = 0 }) => sum + running, 0);
  for (const object of objects) object.dispose();
  return { lines, left };
}

for await (const line of createInterface({ input: process.stdin })) {
  const program = JSON.parse(line);
  let answer;
  try {
    answer = await (program.events ? execute(program) : nested(program));
  } catch (error) {
    answer = { error: error.stack.replace(/data:[^ )]*/g, '') };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
