// What the page shows: requests, a limiter, a breaker and a dependency. It knows
// a clock and nothing of the page.

import { circuitBreaker, rateLimiter } from '@sluice/core';

/** How long the dependency takes, in milliseconds. */
const LATENCY = 200;

/** How often the bucket is looked at, in milliseconds. */
const SAMPLE = 100;

/** How long it remembers, in milliseconds. */
export const HISTORY = 30_000;

/** The most callers that wait at the limiter. */
export const QUEUE = 10;

export class World {
  rate = 5;
  burst = 10;
  /** Requests a second that come by themselves. */
  traffic = 0;
  failing = false;

  /** Callers at the limiter. */
  waiting = 0;
  counts = { answered: 0, failed: 0, limited: 0, broken: 0 };

  /** What happened, oldest first: levels of the bucket, ends of requests, states of the breaker. */
  samples = [];
  ends = [];
  states = [];

  #clock;
  #tell;
  #limiter;
  #breaker;
  #opened = 0;
  #trafficTimer;

  /** `tell` is called with each line for the log. */
  constructor(clock, tell) {
    this.#clock = clock;
    this.#tell = tell;
    this.#breaker = circuitBreaker({
      window: { calls: 10 },
      minimum: 5,
      failure_rate: '50%',
      open: '5s',
      probes: 2,
      clock,
    });
    this.#breaker.on('change', ({ state }) => {
      if (state === 'open') this.#opened = this.now;
      this.states.push({ at: this.now, state });
      this.#tell(`breaker is ${state}`, state);
    });
    this.states.push({ at: this.now, state: this.state });
    this.limit(this.rate, this.burst);
    this.#sample();
  }

  get now() {
    return this.#clock.now();
  }

  get state() {
    return this.#breaker.state;
  }

  /** How many milliseconds the breaker stays open. */
  get closedFor() {
    return this.state === 'open' ? this.#opened + 5_000 - this.now : 0;
  }

  /** The tokens in the bucket, with their fraction, which the retry delay of a refusal gives. */
  get level() {
    const all = this.#limiter.peek({ cost: this.burst });
    return all.ok ? this.burst : Math.max(0, this.burst - (all.retryAfter * this.rate) / 1_000);
  }

  /** Sets another rate and burst. What was taken from the old bucket is missing in the new one. */
  limit(rate, burst) {
    const before = this.#limiter?.snapshot();
    this.rate = rate;
    this.burst = burst;
    this.#limiter = rateLimiter({ rate: `${rate}/1s`, burst, wait: '2s', queue: QUEUE, clock: this.#clock });
    if (before) this.#limiter.restore(before);
  }

  /** Sets how many requests a second come by themselves. */
  flow(traffic) {
    this.traffic = traffic;
    this.#clock.clearTimeout(this.#trafficTimer);
    if (traffic > 0) this.#trafficTimer = this.#clock.setTimeout(() => this.#next(), 1_000 / traffic);
  }

  /** Sends a request. Its end goes to the log, so the promise never rejects. */
  async send() {
    this.waiting++;
    const admission = await this.#limiter.acquire();
    this.waiting--;
    if (!admission.ok) {
      this.#end('limited', `limiter refuses: ${admission.reason}${after(admission)}`);
      return;
    }
    try {
      const result = await this.#breaker.attempt(() => this.#dependency());
      if (result.ok) this.#end('answered', 'answered');
      else this.#end('broken', `breaker refuses: ${result.reason}${after(result)}`);
    } catch (error) {
      this.#end('failed', `failed: ${error.message}`);
    }
  }

  #dependency() {
    return new Promise((resolve, reject) => {
      this.#clock.setTimeout(() => {
        if (this.failing) reject(new Error('the dependency is down'));
        else resolve();
      }, LATENCY);
    });
  }

  #end(how, text) {
    this.counts[how]++;
    this.ends.push({ at: this.now, how });
    this.#tell(text, how);
  }

  #next() {
    void this.send();
    this.flow(this.traffic);
  }

  #sample() {
    const since = this.now - HISTORY;
    this.samples.push({ at: this.now, level: this.level, waiting: this.waiting });
    while (this.samples[0].at < since) this.samples.shift();
    while (this.ends[0]?.at < since) this.ends.shift();
    // The state at the left edge began before it.
    while (this.states[1]?.at < since) this.states.shift();
    this.#clock.setTimeout(() => this.#sample(), SAMPLE);
  }
}

const after = ({ retryAfter }) =>
  retryAfter === undefined ? '' : `, retry after ${Math.ceil(retryAfter)} ms`;
