// What the adapters of all frameworks share: how a request is admitted, refused and ended.

import { ask, isOutcome, OWN_OUTCOMES } from '../base/guard.js';
import { abandon, isPromise, shown } from '../base/shown.js';
import type { Outcome, Quota, Rejection } from '../base/types.js';
import { classesOf, outcomeOfStatus } from '../http/outcomes.js';
import type { PipelineCallOptions } from '../pipeline/call-options.js';
import type { PipelinePass } from '../pipeline/pass.js';
import type { Pipeline } from '../pipeline/pipeline.js';
import { attributesIn, missingOf, type Policy, stepsOf } from '../pipeline/policy.js';
import {
  type Answer,
  type Fields,
  type Injected,
  injected,
  isFinal,
  late,
  limitFields,
  rejection,
  replaced,
  twofold,
  unread,
} from './answers.js';
import { ambiguous, attributesOf, type Incoming, unreadable, withoutListed } from './attributes.js';

/** How requests are guarded. `R` is the request of the framework. */
export interface GuardOptions<R> {
  /** The value of `per: key` for a request. Default: empty. */
  key?: ((request: R) => string | undefined) | undefined;
  /** How many permits of a limit a request takes. Default 1. */
  cost?: ((request: R) => number) | undefined;
  /** Lets the requests for which it returns true pass untouched. Default: none. */
  skip?: ((request: R) => boolean) | undefined;
  /** The address of the client, for `per: ip`. Default: what the framework says; behind a proxy tell it so. */
  ip?: ((request: R) => string) | undefined;
  /** Whether answers carry `RateLimit` and `RateLimit-Policy` for the enforced limits. Default true. */
  rateLimitHeaders?: boolean | undefined;
  /** Whether they carry `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the tightest limit, too. Default false. */
  legacyHeaders?: boolean | undefined;
  /** Returns the outcome of an answer, from its status and that which the policy's `outcomes` gives it. Default: the latter. */
  outcome?: ((status: number, byStatus: Outcome) => Outcome) | undefined;
}

/** What a handler may know of the admission of its request. */
export interface Admitted {
  /** Aborted when a timeout of the policy cuts the request. */
  readonly signal: AbortSignal;
  /** What the enforced limits have left for such a request. */
  readonly quotas: readonly Quota[];
}

const UNKNOWN =
  'guard: found a policy that asks for the address of the client (ip), and no option ip; allowed { ip: (request) => address }, because the request does not have it';

const admissions = new WeakMap<object, Admitted>();

/** The admission of a request that a guard let through; undefined for any other. */
export const admissionOf = (request: object): Admitted | undefined => admissions.get(request);

/** An admitted request, which ends once. */
export interface Admission {
  readonly headers: Fields;
  /** Calls back with the answer when a timeout of the policy cuts the request. */
  whenCut(callback: (answer: Answer) => void): void;
  /** The request has ended with a status, or without an answer where it is undefined. */
  end(status: number | undefined): void;
}

/** Guards requests by a pipeline. */
export class Gate<R> {
  private policy: Policy | undefined;
  /** Whether a timeout may cut requests. */
  private timed = false;
  private sent: readonly string[] = [];
  private classes = classesOf({ steps: [] });

  /** `knows` says that the framework knows the address of the client. */
  constructor(
    private readonly pipeline: Pipeline,
    private readonly options: GuardOptions<R> = {},
    private readonly read: (request: R) => Incoming,
    private readonly knows = true,
  ) {
    if (typeof (pipeline as Pipeline | null)?.acquire !== 'function') {
      throw new TypeError('guard: found no pipeline; allowed what pipeline() or policy() returned');
    }
    if (options.ip !== undefined && typeof options.ip !== 'function') {
      throw new TypeError(`guard: ip: found ${shown(options.ip)}; allowed a function`);
    }
    this.follow();
  }

  /** Whether a request passes untouched. One that cannot be read in one way does not. */
  skips(request: R): boolean {
    const { skip } = this.options;
    if (!skip || unreadable(this.read(request))) return false;
    // A promise would be true for every request.
    const allows = (found: unknown): boolean => !isPromise(found);
    return !!ask('skip', skip, 'true or false', () => skip(request), allows, false);
  }

  /**
   * Admits a request, which may wait, or returns the answer to it. `token` is the object of
   * `admissionOf`. Rejects when the client has gone.
   */
  async admit(request: R, token: object, gone?: AbortSignal): Promise<Admission | Answer> {
    const { pipeline } = this;
    const { key, cost, ip } = this.options;
    this.follow();
    const read = this.read(request);
    const reason = unreadable(read);
    if (reason) return unread(reason);
    const incoming = withoutListed(read);
    const twice = ambiguous(incoming, this.sent);
    if (twice !== undefined) return twofold(twice);
    const attributes = attributesOf(ip ? { ...incoming, ip: addressOf(ip(request)) } : incoming);
    const about = { key: key?.(request) ?? '', attributes };
    const verdict = await this.acquire({ ...about, cost: cost?.(request) ?? 1 }, gone).catch(injectedOf);
    if ('name' in verdict) {
      const answer = injected(verdict);
      const quotas = pipeline.quotas(about);
      // As in a pipeline, a fallback replaces failures and throttling alone.
      return verdict.outcome === 'ignore' ? this.headed(answer, quotas) : this.refuse(answer, quotas);
    }
    if (!verdict.ok) {
      const quotas = pipeline.quotas(about);
      const missing = verdict.reason === 'missing' ? missingOf(pipeline.policy, verdict.step) : undefined;
      const answer = rejection(verdict, quotas, missing);
      return isFinal(verdict.reason) ? this.headed(answer, quotas) : this.refuse(answer, quotas, verdict);
    }
    admissions.set(token, verdict);
    return new Admits(
      verdict,
      this.fields(() => verdict.quotas),
      this.timed,
      (status) => this.outcomeOf(status),
      (step) => this.refuse(late(step), verdict.quotas),
    );
  }

  /** Waits no longer than the client does. A client that leaves later does not free what its handler uses. */
  private async acquire(call: PipelineCallOptions, gone?: AbortSignal): Promise<PipelinePass | Rejection> {
    if (!gone) return this.pipeline.acquire(call);
    const waits = new AbortController();
    const leave = (): void => waits.abort(gone.reason);
    if (gone.aborted) leave();
    gone.addEventListener('abort', leave);
    try {
      return await this.pipeline.acquire({ ...call, signal: waits.signal });
    } finally {
      gone.removeEventListener('abort', leave);
    }
  }

  /** Reads a policy that is new. */
  private follow(): void {
    const { policy } = this.pipeline;
    if (policy === this.policy) return;
    const sent = attributesIn(policy);
    // All clients would have one key.
    if (!this.knows && !this.options.ip && sent.includes('ip')) throw new TypeError(UNKNOWN);
    this.policy = policy;
    this.classes = classesOf(policy);
    this.sent = sent;
    this.timed = stepsOf(policy).some((step) => 'timeout' in step);
  }

  private refuse(answer: Answer, quotas: readonly Quota[], refused?: Rejection): Answer {
    const { fallback } = this.policy as Policy;
    const whole = this.headed(answer, quotas, refused);
    return fallback ? replaced(whole, fallback) : whole;
  }

  private headed(answer: Answer, quotas: readonly Quota[], refused?: Rejection): Answer {
    return { ...answer, headers: { ...answer.headers, ...this.fields(() => quotas, refused) } };
  }

  private fields(quotas: () => readonly Quota[], refused?: Rejection): Fields {
    const { rateLimitHeaders = true, legacyHeaders = false } = this.options;
    if (!rateLimitHeaders && !legacyHeaders) return {};
    const fields = limitFields(quotas(), legacyHeaders, refused);
    if (!rateLimitHeaders) {
      delete fields.RateLimit;
      delete fields['RateLimit-Policy'];
    }
    return fields;
  }

  private outcomeOf(status: number): Outcome {
    const { outcome } = this.options;
    const byStatus = outcomeOfStatus(this.classes, status);
    if (!outcome) return byStatus;
    return ask('outcome', outcome, OWN_OUTCOMES, () => outcome(status, byStatus), isOutcome, byStatus);
  }
}

/** The address that the option `ip` returned, which may be none. */
function addressOf(address: string | null | undefined): string {
  const given = address ?? '';
  if (typeof given === 'string') return given;
  abandon(given);
  throw new TypeError(`ip: found ${shown(given)}; allowed a string`);
}

/** Returns what a chaos step injected, and throws any other error. */
function injectedOf(error: unknown): Injected {
  if ((error as Injected | null)?.name === 'InjectedError') return error as Injected;
  throw error;
}

class Admits implements Admission {
  constructor(
    private readonly pass: PipelinePass,
    readonly headers: Fields,
    private readonly timed: boolean,
    private readonly judge: (status: number) => Outcome,
    private readonly late: (step: string) => Answer,
  ) {}

  whenCut(callback: (answer: Answer) => void): void {
    if (!this.timed) return;
    const { signal } = this.pass;
    signal.addEventListener('abort', () => {
      const { step } = Object(signal.reason) as { step?: string };
      if (step !== undefined) callback(this.late(step));
    });
  }

  end(status: number | undefined): void {
    const { pass } = this;
    const outcome = status === undefined ? 'ignore' : this.judge(status);
    if (outcome === 'ok') pass.success();
    else if (outcome === 'fail') pass.failure();
    else if (outcome === 'throttle') pass.throttle();
    else pass.ignore();
  }
}

/** Whether a request was refused. */
export const isAnswer = (verdict: Admission | Answer): verdict is Answer => 'body' in verdict;

/** Waits for a handler, or for the answer to a request that a timeout cuts. */
export const untilCut = <T>(admission: Admission, work: Promise<T>): Promise<T | Answer> =>
  new Promise((resolve, reject) => {
    admission.whenCut(resolve);
    work.then(resolve, reject);
  });
