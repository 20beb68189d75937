// Cloudflare Workers: a timer ends with the request that set it, and the work of a
// request must run in that request. So each waiter has a timer in its own request, and
// continues there, also when another request ended its wait.

import type { Guest, Guests, Wake, Wakes } from '../base/wakes.js';

class Caller implements Guest {
  private readonly posted: (() => void)[] = [];
  private timer: unknown;
  private over = false;
  /** What the timer is set for. */
  due = Infinity;
  /** Resumes the request. The promise belongs to the request: code that awaits it continues there. */
  ring!: () => void;

  constructor(
    private readonly wakes: Wakes,
    private readonly wake: Wake,
    private readonly all: Set<Caller>,
  ) {
    all.add(this);
    void this.serve();
    this.ring();
  }

  post(f: () => void): void {
    this.posted.push(f);
    this.ring();
  }

  drain(): void {
    for (let f = this.posted.shift(); f; f = this.posted.shift()) f();
  }

  leave(): void {
    this.over = true;
    this.all.delete(this);
    this.ring();
  }

  private async serve(): Promise<void> {
    while (!this.over) {
      await new Promise<void>((resolve) => {
        this.ring = resolve;
      });
      this.drain();
      this.arm();
    }
  }

  // Also where nothing is due: a request without a timer counts as hung.
  private arm(): void {
    const { wakes, timer, over } = this;
    const { due } = this.wake;
    if (!over && timer !== undefined && due === this.due) return;
    wakes.clear(timer);
    this.due = due;
    this.timer = over ? undefined : wakes.later(this.fire, due);
  }

  private readonly fire = (): void => {
    this.timer = undefined;
    this.wakes.fire();
    this.ring();
  };
}

const callers = new WeakMap<Wake, Set<Caller>>();

/** Gives each waiting request a timer of its own. */
export const requests: Guests = {
  greet(wakes, wake) {
    let all = callers.get(wake);
    if (!all) {
      all = new Set();
      callers.set(wake, all);
    }
    return new Caller(wakes, wake, all);
  },
  moved(wake) {
    for (const caller of callers.get(wake) ?? []) if (wake.due < caller.due) caller.ring();
  },
};
