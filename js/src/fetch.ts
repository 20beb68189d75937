import { checkHooks, checkNames } from './checks.js';
import type { InstanceOption } from './engine.js';
import { attributesOf } from './http/attributes.js';
import { type Classes, classesOf, outcomeOfError, outcomeOfStatus } from './http/outcomes.js';
import { retryAfterOfAnswer } from './http/retry-after.js';
import { Pipeline } from './pipeline.js';
import { hooksOf, type ResultHooks } from './pipeline-options.js';
import { type Methods, type Policy, type PolicyDocument, type Step, stepsOf } from './policy.js';
import type { Clock } from './types.js';

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
  /** Whose memory it uses. Default `shared`: that of all objects that name no other. */
  instance?: InstanceOption | undefined;
  /** The value of `per: key` for a request. Default: empty. */
  key?: ((input: string | URL | Request, init?: RequestInit) => string) | undefined;
}

/** A `fetch` under a policy. */
export interface ResilientFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** The pipeline that it runs through. */
  readonly pipeline: Pipeline;
}

/** The methods that may be sent again (RFC 9110, section 9.2.2). */
const idempotent = (): string[] => ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'];

const NAMES = ['fetch', 'name', 'clock', 'key', 'stack', 'instance'];

/** The longest body, in bytes or UTF-16 units, that is sent again. */
const LONGEST = 64 << 10;

/**
 * A `fetch` that runs through a policy. The policy's `outcomes` classify answers;
 * `Retry-After` is a lower bound of the backoff. A failed answer is still an answer:
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
export function resilientFetch(
  policy: Pipeline | PolicyDocument | Policy | readonly Step[] | string,
  options: FetchOptions = {},
): ResilientFetch {
  checkNames('resilientFetch', options, NAMES);
  checkHooks('resilientFetch', options);
  const { fetch: send = globalThis.fetch, key } = options;
  const pipeline = policy instanceof Pipeline ? policy : new Pipeline(policy, options);
  let rules = rulesOf(pipeline.policy);

  const run = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    if (rules.policy !== pipeline.policy) rules = rulesOf(pipeline.policy);
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
  return Object.assign(run, { pipeline });
}

/** What a policy says about answers. */
interface Rules {
  readonly policy: Policy;
  readonly hooks: ResultHooks;
  /** The hooks of a request that is not sent again. */
  readonly once: ResultHooks;
  /** The methods that are sent again after a failure. */
  readonly methods: readonly string[];
  /** The methods that are sent again while an attempt still runs. */
  readonly hedged: readonly string[];
}

// A negative retry delay means not to retry.
const NEVER = (): number => -1;

function rulesOf(policy: Policy): Rules {
  const classes: Classes = classesOf(policy);
  const { fallback } = policy;
  const methodsOf = (mechanism: 'retry' | 'hedge'): readonly string[] => {
    const steps = stepsOf(policy) as readonly { [mechanism: string]: { methods?: Methods } }[];
    const methods = steps.map((step) => step[mechanism]).find(Boolean)?.methods;
    return methods === undefined ? idempotent() : [methods].flat();
  };
  const hooks = hooksOf({
    outcome: (error, value) =>
      error === undefined
        ? outcomeOfStatus(classes, (value as Response).status)
        : outcomeOfError(classes, error),
    retryAfter: (_, value) => (value ? retryAfterOfAnswer((value as Response).headers) : undefined),
    // A body that is not read keeps its connection.
    discard: (value) => void (value as Response).body?.cancel().catch(() => {}),
    fallback: fallback && (() => new Response(fallback.body ?? '', { status: fallback.status ?? 503 })),
  });
  return {
    policy,
    hooks,
    once: { ...hooks, retryAfter: NEVER },
    methods: methodsOf('retry'),
    hedged: methodsOf('hedge'),
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
