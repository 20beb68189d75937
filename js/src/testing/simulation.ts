import { durationText, nanosecondsOf } from '../base/durations.js';
import type { Duration } from '../base/types.js';
import { exceeded, type Marks, type Opening } from './marks.js';
import type { ClientResult, Scenario, ServiceResult, SimulationResult } from './scenario.js';

/** A run of a scenario. */
export interface Run {
  readonly seed: number | bigint;
  readonly scenario: Scenario;
  readonly result: SimulationResult;
  readonly marks: Marks;
}

/** What a run of a scenario did not meet. */
export class RequirementError extends Error {
  override readonly name = 'RequirementError';

  constructor(
    /** What was required. */
    readonly required: string,
    /** What the run did instead. */
    readonly found: string,
    /** The seed of the run: `simulate(scenario, { seed })` repeats it. */
    readonly seed: number | bigint,
  ) {
    super(
      `required: ${required}\nfound:    ${found}\nseed:     ${seed}\nRun it again: simulate(scenario, { seed: ${seed} }), or sluice simulate --seed ${seed}`,
    );
  }
}

/**
 * A scenario that ran once with each of its seeds. A requirement holds for each run, and in it for each client or
 * service; `client` and `service` select one. A requirement that is not met throws a `RequirementError`, which every
 * test runner reports; one that is met returns the runs, for the next.
 */
export class Simulation {
  /** @internal */
  constructor(
    private readonly runs: readonly Run[],
    private readonly onlyClient?: string,
    private readonly onlyService?: string,
  ) {}

  /** The result of the first run. */
  get result(): SimulationResult {
    return (this.runs[0] as Run).result;
  }

  /** The results, in the order of the seeds. */
  get results(): readonly SimulationResult[] {
    return this.runs.map(({ result }) => result);
  }

  /** The same runs, of which requirements are about one client. */
  client(name: string): Simulation {
    known('client', name, this.result.clients);
    return new Simulation(this.runs, name, this.onlyService);
  }

  /** The same runs, of which requirements are about one service. */
  service(name: string): Simulation {
    known('service', name, this.result.services);
    return new Simulation(this.runs, this.onlyClient, name);
  }

  /** Goodput was never below nine tenths of that before any fault. */
  requireSteady(): this {
    return this.clients('the verdict steady', ({ verdict }) =>
      verdict === 'steady' ? undefined : `the verdict ${verdict}`,
    );
  }

  /** No client stays below nine tenths of the goodput before any fault when nothing that could cause it goes on. */
  requireNotMetastable(): this {
    return this.clients('any verdict but metastable', ({ verdict }) =>
      verdict === 'metastable' ? 'the verdict metastable' : undefined,
    );
  }

  /**
   * The clients are back at nine tenths of the goodput before any fault within a time after the end of the last
   * fault. It is not met by a client whose services have no fault.
   */
  requireRecovers(within: Duration): this {
    const most = Number(nanoseconds('within', within)) / 1e9;
    return this.clients(
      `recovery within ${within} after the last fault`,
      ({ recovery, verdict }, name, run) => {
        if (firstFault(run, name) === undefined) return 'no fault to recover from';
        if (recovery === null) return `no recovery, and the verdict ${verdict}`;
        return recovery > most ? `recovery after ${recovery}s` : undefined;
      },
    );
  }

  /** At least a share of the calls, from 0 to 1, ended ok. Those that the end of the scenario cut off are not counted. */
  requireGoodput(least: number): this {
    return this.clients(`at least ${percent(least)} of the calls end ok`, ({ ok, calls, unfinished }) => {
      const over = calls - unfinished;
      return over > 0 && ok < least * over ? `${percent(ok / over)} of ${over} calls` : undefined;
    });
  }

  /** At most so many attempts for each call. Calls that a client makes again are not counted as calls. */
  requireMaxAmplification(most: number): this {
    return this.clients(`at most ${most} attempts a call`, ({ amplification }) =>
      amplification > most ? `${digits(amplification)} attempts a call` : undefined,
    );
  }

  /**
   * A percentile of the latency of the calls that ended ok is at most a duration: 50 is the median, 100 the slowest
   * call. It is the nearest rank, exactly.
   */
  requireMaxLatency(percentile: number, most: Duration): this {
    if (!(percentile > 0 && percentile <= 100))
      throw new TypeError(`percentile: found ${percentile}; allowed: above 0, at most 100`);
    const limit = nanoseconds('most', most);
    return this.clients(
      `a latency of at most ${most} at the percentile ${percentile}`,
      (_, name, { result, marks }) => {
        const begin = BigInt(Math.round((result.duration - result.counted) * 1e9));
        const all = marks.latencies(name, begin);
        const rank = Math.min(Math.max(Math.ceil((percentile / 100) * all.length), 1), all.length);
        const took = all[rank - 1];
        return took !== undefined && took > limit ? durationText(took) : undefined;
      },
    );
  }

  /** Jain's index of the shares of calls that ended ok, over the keys of a client, is at least a number from 0 to 1. */
  requireFair(least: number): this {
    return this.clients(`a fairness between keys of at least ${least}`, ({ fairness }) =>
      fairness < least ? `a fairness of ${digits(fairness)}` : undefined,
    );
  }

  /** None of the steps of the clients' policies refused a call. Without a name it is about all steps. */
  requireNoRefusals(...steps: readonly string[]): this {
    const by = steps.length ? ` by ${steps.join(', ')}` : '';
    return this.clients(`no refusals${by}`, ({ refusals }) => {
      for (const [one, calls] of Object.entries(refusals)) {
        if (!steps.length || steps.includes(one.slice(0, one.lastIndexOf(':'))))
          return `${calls} refusals by ${one}`;
      }
      return undefined;
    });
  }

  /** Each breaker is open within a time after the begin of the first fault, or of the scenario where it has none. */
  requireOpensWithin(most: Duration): this {
    const limit = nanoseconds('most', most);
    return this.opens(
      `breakers open within ${most} after the first fault`,
      ({ after }) => after > limit,
      ({ after }) => durationText(after),
    );
  }

  /** Each breaker is open after at most so many calls that arrive since the begin of the first fault. */
  requireOpensWithinCalls(most: number): this {
    return this.opens(
      `breakers open within ${most} calls after the first fault`,
      ({ calls }) => calls > most,
      ({ calls }) => `${calls} calls`,
    );
  }

  /** No breaker of the clients' policies opens. */
  requireStaysClosed(): this {
    return this.clients('breakers stay closed', ({ breakers }) => {
      const [step, opened] = Object.entries(breakers).find(([, one]) => one.opened > 0) ?? [];
      return opened && `${step} open after ${opened.first}s`;
    });
  }

  /**
   * At most so many requests arrive at a service in any window of time, which is counted exactly. With a client
   * selected it is about the requests for its calls.
   */
  requireNeverExceeds(limit: number, window: Duration): this {
    if (!Number.isInteger(limit) || limit < 0)
      throw new TypeError(`limit: found ${limit}; allowed: a whole number, 0 or more`);
    const length = nanoseconds('window', window);
    return this.services(`at most ${limit} requests in any ${window}`, (_, name, { marks }) => {
      const more = exceeded(marks.arrivals(name, this.onlyClient), limit, length);
      return more && `${more.found} from ${durationText(more.from)} on`;
    });
  }

  /** At most a share of the requests that a service serves, from 0 to 1, has callers that have given up. */
  requireMaxWaste(most: number): this {
    return this.services(`at most ${percent(most)} of the served requests wasted`, ({ served, wasted }) =>
      wasted > most * served ? `${percent(wasted / served)} of ${served} requests` : undefined,
    );
  }

  /** What a function of the test checks: it returns a text that says what is wrong, undefined where nothing is. */
  requireThat(what: string, check: (result: SimulationResult) => string | undefined): this {
    return this.require(what, ({ result }) => check(result));
  }

  private opens(what: string, late: (one: Opening) => boolean, found: (one: Opening) => string): this {
    return this.clients(what, ({ breakers }, name, run) => {
      const steps = Object.keys(breakers);
      if (!steps.length) return 'no breaker';
      const from = firstFault(run, name) ?? 0n;
      const end = BigInt(Math.round(run.result.duration * 1e9));
      for (const one of run.marks.openings(name, steps, from, end)) {
        if (!one.open) return `${one.step} does not open in ${found(one)}`;
        if (late(one)) return `${one.step} opens after ${found(one)}`;
      }
      return undefined;
    });
  }

  private clients(
    what: string,
    check: (one: ClientResult, name: string, run: Run) => string | undefined,
  ): this {
    return this.require(what, (run) => each('client', run, run.result.clients, this.onlyClient, check));
  }

  private services(
    what: string,
    check: (one: ServiceResult, name: string, run: Run) => string | undefined,
  ): this {
    return this.require(what, (run) => each('service', run, run.result.services, this.onlyService, check));
  }

  private require(what: string, check: (run: Run) => string | undefined): this {
    for (const run of this.runs) {
      const found = check(run);
      if (found !== undefined) throw new RequirementError(what, found, run.seed);
    }
    return this;
  }
}

function each<R>(
  kind: string,
  run: Run,
  all: { readonly [name: string]: R },
  only: string | undefined,
  check: (one: R, name: string, run: Run) => string | undefined,
): string | undefined {
  for (const [name, one] of Object.entries(all)) {
    const found = only === undefined || only === name ? check(one, name, run) : undefined;
    if (found !== undefined) return `${kind} ${name}: ${found}`;
  }
  return undefined;
}

function known(kind: string, name: string, all: object): void {
  if (!Object.hasOwn(all, name))
    throw new TypeError(`${kind}: found ${name}; allowed: ${Object.keys(all).join(', ')}`);
}

/** When the first fault of the services that a client reaches begins. */
function firstFault({ scenario, marks }: Run, client: string): bigint | undefined {
  const reached = new Set<string>();
  const visit = (name: string): void => {
    reached.add(name);
    for (const { to } of scenario.services.find((one) => one.name === name)?.calls ?? []) visit(to);
  };
  for (const { name, to } of scenario.clients) if (name === client) visit(to);
  return marks.firstFault([...reached]);
}

function nanoseconds(name: string, value: Duration): bigint {
  const n = typeof value === 'string' ? nanosecondsOf(value) : undefined;
  if (n === undefined || n < 0n)
    throw new TypeError(`${name}: found ${value}; allowed: a duration as in 30s`);
  return n;
}

const digits = (x: number): string => String(Number(x.toPrecision(4)));
const percent = (share: number): string => `${digits(100 * share)}%`;
