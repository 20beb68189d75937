import { disposed } from '../base/errors.js';
import { type Engine, own } from '../engine/engine.js';
import { Keys } from './keys.js';
import type { Plan, Text } from './plan.js';

/** How many pipelines of a plan without state are kept for later calls. */
const IDLE = 16;

const random = (): number => (Math.random() * 2 ** 32) >>> 0;

/** The pipeline in the module: an own one, or one of the plan for the time of the calls. */
export class PipelineHandle {
  /** The handle, 0 while there is none. */
  value = 0;
  /** The numbers of the values of attributes. */
  keys: Keys;
  disposed = false;
  /** The handle, where it is not one of the plan's. */
  private readonly owned = new Set<number>();
  private plan: Plan;

  /**
   * `borrows` says that it takes a handle of the plan for the time of its calls; `beside` is the pipeline of another
   * policy with which it shares mechanisms, and its keys.
   */
  constructor(
    private readonly engine: Engine,
    private text: Text,
    public borrows: boolean,
    private readonly beside?: PipelineHandle,
  ) {
    this.plan = text.plan();
    this.keys = beside?.keys ?? new Keys(engine, 0);
  }

  /** Takes a handle where it has none. Throws after `dispose`. */
  obtain(): void {
    if (this.disposed) throw disposed();
    if (this.value) return;
    const { engine } = this;
    if (this.plan.dropped) this.plan = this.text.plan();
    const { handle, idle } = this.plan;
    const unused = this.borrows ? idle.pop() : undefined;
    this.value = unused ?? engine.check(this.make(handle));
  }

  private make(plan: number): number {
    const { engine, beside } = this;
    if (beside) return engine.x.join(beside.value, plan, random(), random());
    return engine.x.pipeline(plan, random(), random());
  }

  /** Has an own handle from now on. Returns whether that is new. */
  keep(): boolean {
    this.obtain();
    this.borrows = false;
    if (this.owned.size) return false;
    this.owned.add(this.value);
    own(this, this.engine, this.owned);
    this.keys = this.beside?.keys ?? new Keys(this.engine, this.value);
    return true;
  }

  /** Returns the handle to the plan, or frees it after `dispose`: no call needs it. Returns whether it was freed. */
  rest(): boolean {
    const { value } = this;
    if (!value) return false;
    if (this.borrows) {
      this.value = 0;
      const { idle, dropped } = this.plan;
      if (!dropped && idle.length < IDLE) idle.push(value);
      else this.engine.x.free(value);
      return false;
    }
    if (!this.disposed) return false;
    this.value = 0;
    this.engine.release(this.owned);
    return true;
  }

  /** Activates another plan at a time. Returns how many decisions there are. */
  configure(text: Text, now: number): number {
    const { engine } = this;
    const plan = text.plan();
    const count = engine.check(engine.x.configure(this.value, plan.handle, now));
    this.text = text;
    this.plan = plan;
    return count;
  }
}
