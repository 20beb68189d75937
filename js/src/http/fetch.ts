import { checkHooks, checkNames, wrongArgument } from '../base/checks.js';
import type { Clock, Duration, InstanceOption } from '../base/types.js';
import type { Methods } from '../base/values.js';
import { NEVER } from '../base/wakes.js';
import { ownMeaning } from '../pipeline/meaning.js';
import { type Hooks, hooksOf } from '../pipeline/options.js';
import { Pipeline } from '../pipeline/pipeline.js';
import type { Source } from '../pipeline/plan.js';
import { type Imported, type Policy, type PolicyDocument, type Step, stepsOf } from '../pipeline/policy.js';
import { millisecondsOf } from '../reader/spans.js';
import { attributesOf } from './attributes.js';
import { hold, isRead } from './held-body.js';
import { type Classes, classesOf, outcomeOfError, outcomeOfStatus } from './outcomes.js';
import { retryAfterOfAnswer } from './retry-after.js';

/** What `resilientFetch` takes besides its policy. */
export interface FetchOptions {
  /** The function that fetches. Default: the `fetch` of the runtime. */
  fetch?: typeof fetch | undefined;
  /** The name of the policy, where the document has several. */
  name?: string | undefined;
  /** The clock, for a policy that is not a pipeline already. */
  clock?: Clock | undefined;
  /** Gives a `RejectedError` a stack, which takes some microseconds. Default false. */
  stack?: boolean | undefined;
  /** Whose memory it uses. Default `shared`: the memory of all objects that name no other. */
  instance?: InstanceOption | undefined;
  /** The value of `per: key` for a request. Default: empty. */
  key?: ((input: string | URL | Request, init?: RequestInit) => string) | undefined;
  /**
   * Until when the policy's timeouts cut an answer and its bulkheads hold a place for it: `held`, until its body ends or is
   * cancelled, or `headers`, until its headers have come. Default `held`.
   */
  body?: 'held' | 'headers' | undefined;
  /** The longest time in which no part of a body comes: the body then fails with a `TimeoutError` of the step `idle`. Default: none. */
  idleTimeout?: Duration | undefined;
}

/** A `fetch` under a policy. */
export interface ResilientFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** The pipeline that it runs through. */
  readonly pipeline: Pipeline;
}

/** The methods that may be sent again (RFC 9110, section 9.2.2). */
const idempotent = (): string[] => ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'];

const NAMES = ['fetch', 'name', 'clock', 'key', 'stack', 'instance', 'body', 'idleTimeout'];

/** The longest body, in bytes or UTF-16 units, that is sent again. */
const LONGEST = 64 << 10;

/**
 * A `fetch` that runs through a policy. The policy's `outcomes` classify answers;
 * `Retry-After` is a lower bound of the backoff. Votes and retries end with the headers of an answer; timeouts cut its body, too, which
 * fails with a `TimeoutError`, and a bulkhead's place is held until the body has come or is cancelled. Cancel the body of an answer that is not read. A failed answer is still an answer:
 * the last one is returned when no attempt is left.
 * Only idempotent methods, or the `methods` of the retry and of the hedge, and
 * requests with an `Idempotency-Key` are sent again, and no body that is a stream
 * or longer than 64 KiB. A refusal rejects with `RejectedError`
 * a cut with `TimeoutError`, and an injected result with `InjectedError`, unless the policy's `fallback` has an answer for it.
 * Throws `PolicyError` for a wrong policy.
 *
 * @example
 * const get = resilientFetch({ steps: [{ retry: 3 }, { timeout: '10s' }] });
 * const answer = await get('https://example.com/');
 */
export function resilientFetch<const D extends object>(
  policy: D & Imported<D>,
  options?: FetchOptions,
): ResilientFetch;
export function resilientFetch(
  policy: Pipeline | PolicyDocument | Policy | readonly Step[] | string,
  options?: FetchOptions,
): ResilientFetch;
export function resilientFetch(policy: Pipeline | Source, options: FetchOptions = {}): ResilientFetch {
  checkNames('resilientFetch', options, NAMES);
  checkHooks('resilientFetch', options);
  const { fetch: send = globalThis.fetch, key } = options;
  const pipeline = policy instanceof Pipeline ? policy : new Pipeline(policy, options);
  const keeper = keeperOf(options);
  let rules = rulesOf(pipeline.policy, keeper);

  const begin = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    if (rules.policy !== pipeline.policy) rules = rulesOf(pipeline.policy, keeper);
    const request = input instanceof Request ? input : undefined;
    const method = (init?.method ?? request?.method ?? 'GET').toUpperCase();
    const headers = (): Headers => new Headers(init?.headers ?? request?.headers);
    const body = repeatable(init?.body ?? request?.body);
    const may = (methods: readonly string[]): boolean =>
      body && (methods.includes(method) || hasIdempotencyKey(headers()));
    const signal = init?.signal ?? request?.signal;
    return pipeline.run(
      (attempt) =>
        send(input, { ...init, signal: signal ? AbortSignal.any([signal, attempt.signal]) : attempt.signal }),
      {
        signal,
        key: key?.(input, init) ?? '',
        hedge: may(rules.hedged),
        attributes: attributesOf({
          method,
          url: request?.url ?? String(input),
          headers,
        }),
      },
      may(rules.methods) ? rules.hooks : rules.once,
    ) as Promise<Response>;
  };
  // Errors of `key` and of wrong arguments reject, as errors of fetch do.
  const run = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    try {
      return begin(input, init);
    } catch (error) {
      return Promise.reject(error);
    }
  };
  return Object.assign(run, { pipeline });
}

/** What a policy says about answers. */
interface Rules {
  readonly policy: Policy;
  readonly hooks: Hooks;
  /** The hooks of a request that is not sent again. */
  readonly once: Hooks;
  /** The methods that are sent again after a failure. */
  readonly methods: readonly string[];
  /** The methods that are sent again while an attempt still runs. */
  readonly hedged: readonly string[];
}

// A negative retry delay means not to retry.
const NO_RETRY = (): number => -1;

function rulesOf(policy: Policy, keeper: Hooks['keeper']): Rules {
  const classes: Classes = classesOf(policy);
  const { fallback } = policy;
  const methodsOf = (mechanism: 'retry' | 'hedge'): readonly string[] => {
    const steps = stepsOf(policy) as readonly { [mechanism: string]: { methods?: Methods } }[];
    const methods = steps.map((step) => step[mechanism]).find(Boolean)?.methods;
    return methods === undefined ? idempotent() : [methods].flat();
  };
  const hooks = {
    ...hooksOf({
      outcome: (error, value) =>
        error === undefined
          ? outcomeOfStatus(classes, (value as Response).status)
          : (ownMeaning(error) ?? outcomeOfError(classes, error)),
      retryAfter: (_, value) => (value ? retryAfterOfAnswer((value as Response).headers) : undefined),
      // A body that is not read keeps its connection.
      discard: (value) => void (value as Response).body?.cancel().catch(() => {}),
      fallback: fallback && (() => new Response(fallback.body ?? '', { status: fallback.status ?? 503 })),
    }),
    keeper,
  };
  return {
    policy,
    hooks,
    once: { ...hooks, retryAfter: NO_RETRY },
    methods: methodsOf('retry'),
    hedged: methodsOf('hedge'),
  };
}

/** What holds timeouts and places until a body ends; undefined where they end with the headers. */
function keeperOf({ body = 'held', idleTimeout }: FetchOptions): Hooks['keeper'] {
  if (body !== 'held' && body !== 'headers') wrongArgument('resilientFetch.body', body, 'held, headers');
  const idle = idleTimeout === undefined ? NEVER : millisecondsOf('resilientFetch.idleTimeout', idleTimeout);
  if (body === 'headers' && idle === NEVER) return undefined;
  return {
    reads: (value) => isRead(value as Response),
    keep(value, kept) {
      if (body === 'headers') kept.forgo();
      return hold(value as Response, kept, idle);
    },
  };
}

const hasIdempotencyKey = (headers: Headers): boolean =>
  headers.has('idempotency-key') || headers.has('x-idempotency-key');

function repeatable(body: BodyInit | ReadableStream | null | undefined): boolean {
  if (body instanceof ReadableStream) return false;
  const { length, byteLength, size } = Object(body ?? '') as {
    length?: number;
    byteLength?: number;
    size?: number;
  };
  return (length ?? byteLength ?? size ?? 0) <= LONGEST;
}
