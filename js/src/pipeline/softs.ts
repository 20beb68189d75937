import type { Emitter } from '../base/emitter.js';
import { type Guest, guests, NEVER, type Wake, type Wakes } from '../base/wakes.js';
import {
  DECISION_ADMIT,
  DECISION_CANCEL,
  DECISION_DROP,
  DECISION_FAILED,
  DECISION_HEDGE,
  DECISION_INJECT,
  DECISION_RETRY,
  DECISION_WAIT,
} from '../generated/abi.js';
import type { Layout } from './plan.js';
import type { DecisionRecord } from './records.js';

/** The mark at which a call has been below a timeout for as long as its soft limit. */
class Warning implements Wake {
  due = NEVER;
  place = -1;
  waits = 0;
  unset = false;
  private readonly guest: Guest | undefined;

  constructor(
    private readonly wakes: Wakes,
    /** The index of the timeout. */
    readonly step: number,
    /** The attempt below a hedge that passed it, 0 where all attempts of the round have. */
    readonly attempt: number,
    readonly wake: () => void,
    at: number,
  ) {
    this.guest = guests?.greet(wakes, this);
    wakes.set(this, at);
  }

  end(): void {
    this.wakes.set(this, NEVER);
    this.guest?.leave();
  }
}

/** Tells the soft limits of the timeouts that a call has passed. It decides nothing. */
export class Softs {
  private warnings: Warning[] = [];
  /** By attempts below a hedge, the first step that they have not passed; the step of the round as attempt 0. */
  private readonly reached = new Map([[0, 0]]);
  /** The attempts that run or wait, and the one that set out last, 0 for none. */
  private readonly live = new Set<number>();
  private latest = 0;
  private readonly retry: number;

  /** `key` is the one of the call, and `skips` are the steps that do not apply to it. */
  constructor(
    private readonly key: string | undefined,
    private readonly layout: Layout,
    private readonly skips: number,
    private readonly wakes: Wakes,
    private readonly emitter: Emitter,
  ) {
    this.retry = layout.steps.findIndex(({ mechanism }) => mechanism === 'retry');
  }

  /** A decision about the call. */
  follow({ kind, attempt, step, shadow, outcome, at }: DecisionRecord): void {
    const { layout, reached, retry } = this;
    if (shadow) return;
    if (kind === DECISION_HEDGE) {
      reached.set(attempt, layout.hedge + 1);
      this.latest = attempt;
    } else if (kind === DECISION_WAIT || (kind === DECISION_INJECT && !outcome)) this.pass(attempt, step, at);
    else if (kind === DECISION_ADMIT) {
      this.pass(attempt, layout.steps.length, at);
      this.latest = attempt;
    } else if (kind === DECISION_FAILED || kind === DECISION_CANCEL || kind === DECISION_DROP) {
      this.live.delete(attempt);
      this.forget((warning) => warning.attempt === attempt);
    } else if (kind === DECISION_RETRY) {
      // A refusal that is waited for comes before any other decision.
      this.pass(0, retry + 1, at);
      // The next attempt passes the steps below the retry again.
      this.forget((warning) => warning.step > retry);
      this.live.clear();
      reached.clear();
      reached.set(0, retry + 1);
    }
  }

  /** The call has ended. */
  end(): void {
    this.forget(() => true);
  }

  /** An attempt has passed the steps above one. */
  private pass(attempt: number, to: number, at: number): void {
    const { layout, reached, skips } = this;
    const { hedge } = layout;
    this.live.add(attempt);
    const round = reached.get(0) as number;
    const from = reached.get(attempt) ?? round;
    for (const { index, soft } of layout.softs as NonNullable<Layout['softs']>) {
      if (index < from || index >= to || skips & (1 << index)) continue;
      this.warn(index, hedge >= 0 && index > hedge ? attempt : 0, at + soft);
    }
    const above = hedge < 0 ? to : Math.min(to, hedge);
    if (above > round) reached.set(0, above);
    if (hedge >= 0 && to > hedge) reached.set(attempt, to);
  }

  /** The lowest attempt, as a timeout that cuts all of them tells. */
  private get lowest(): number {
    return this.live.size ? Math.min(...this.live) : this.latest;
  }

  private warn(step: number, attempt: number, at: number): void {
    const { key, layout, emitter } = this;
    const warning: Warning = new Warning(
      this.wakes,
      step,
      attempt,
      () => {
        this.forget((one) => one === warning);
        emitter.emit({
          kind: 'timeout',
          at,
          step: layout.steps[step]?.name,
          key,
          attempt: attempt || this.lowest || undefined,
          soft: true,
        });
      },
      at,
    );
    this.warnings.push(warning);
  }

  private forget(which: (warning: Warning) => boolean): void {
    this.warnings = this.warnings.filter((warning) => {
      if (!which(warning)) return true;
      warning.end();
      return false;
    });
  }
}
