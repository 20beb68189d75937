import {
  DECISION_CANCEL,
  DECISION_FAILED,
  DECISION_HEDGE,
  DECISION_TIMEOUT,
  DECISION_WAIT,
  STEP_DEADLINE,
} from '../generated/abi.js';
import { Running } from './attempt.js';
import { Call } from './call.js';
import { lost } from './cuts.js';
import type { DecisionRecord } from './records.js';

/** An attempt of a hedged call, which runs or has just ended. */
class Try extends Running {
  over = false;
  threw = false;
  error: unknown;
  value: unknown;
}

/** A call whose attempts may run at the same time. The first good one wins. */
export class HedgedCall extends Call {
  /** The running attempts by their numbers, and the one whose end is being sent to the module. */
  private readonly tries = new Map<number, Try>();
  /** The numbers of attempts that were started beside others, and when. */
  private readonly hedges = new Map<number, number>();

  override follow(record: DecisionRecord): void {
    const { kind, attempt, step, shadow } = record;
    if (kind !== DECISION_WAIT) this.queues?.delete(attempt);
    if (kind === DECISION_HEDGE && !shadow) this.hedges.set(attempt, record.at);
    else if (kind === DECISION_TIMEOUT && !shadow) this.cutTry(attempt, step);
    else if (kind === DECISION_FAILED) this.failed(attempt);
    else if (kind === DECISION_CANCEL) this.lose(attempt);
    else super.follow(record);
  }

  override errorOf(attempt: number): unknown {
    const { tries } = this;
    const ended = tries.get(attempt)?.over
      ? tries.get(attempt)
      : [...tries.values()].find(({ over }) => over);
    if (!ended) return super.errorOf(attempt);
    return ended.threw ? ended.error : undefined;
  }

  protected override begin(attempt: number): Running {
    const { tries, runner, hedges } = this;
    const renew = (): void => {
      if (tries.has(attempt)) runner.prolong(this, attempt);
    };
    const about = { renew, elapsed: () => this.elapsed(), ends: (began: number) => this.ends(began) };
    const running = new Try(attempt, undefined, about, hedges.has(attempt));
    this.inform(running, hedges.get(attempt));
    tries.set(attempt, running);
    return running;
  }

  protected override ended(running: Running, threw: boolean, error: unknown, value: unknown): boolean {
    const ended = running as Try;
    if (this.tries.get(ended.attempt) !== ended) return false;
    ended.over = true;
    ended.threw = threw;
    ended.error = error;
    ended.value = value;
    return true;
  }

  protected override inject(attempt: number, error: unknown): void {
    const ended = new Try(attempt, undefined, undefined, this.hedges.has(attempt));
    ended.over = true;
    ended.threw = true;
    ended.error = error;
    this.tries.set(attempt, ended);
  }

  /** An attempt failed while another one is active. One that was cut has already been left. */
  private failed(attempt: number): void {
    const { tries } = this;
    const failed = tries.get(attempt);
    if (!failed) return;
    tries.delete(attempt);
    this.take(failed);
    if (!failed.threw) this.dump(failed.value);
  }

  /** A timeout cut an attempt, or all of them where the timeout is above the hedge. */
  private cutTry(attempt: number, step: number): void {
    const error = this.cutAt(step);
    if (step === STEP_DEADLINE || step < this.layout.hedge) {
      this.stop(error);
      return;
    }
    const cut = this.tries.get(attempt);
    this.tries.delete(attempt);
    cut?.abort(error);
  }

  /** An attempt lost. */
  private lose(attempt: number): void {
    const { tries } = this;
    const loser = tries.get(attempt);
    tries.delete(attempt);
    const winner = [...tries.values()].find(({ over }) => over);
    loser?.abort(lost(this.nameOf(this.layout.hedge), winner?.attempt as number));
  }

  /** Makes the result of an attempt the result of the call so far. */
  private take({ threw, error, value }: Try): void {
    this.cutBy = undefined;
    this.threw = threw;
    this.error = error;
    this.value = value;
  }

  /** The round is over: its result is the result of the attempt that ended it, unless that attempt was cut. */
  private close(): void {
    for (const ended of this.tries.values()) {
      if (!ended.over) continue;
      this.take(ended);
      this.tries.delete(ended.attempt);
    }
  }

  protected override stop(reason: unknown): void {
    const all = [...this.tries.values()];
    this.tries.clear();
    for (const running of all) running.abort(reason);
  }

  protected override again(): void {
    this.close();
    super.again();
  }

  protected override end(outcome: number, covered: boolean): void {
    this.close();
    super.end(outcome, covered);
  }
}
