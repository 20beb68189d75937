// The answers to refused requests, and the headers about limits, as the Go handler (bindings/nethttp) writes them.

import type { Outcome, Quota, Rejection } from '../base/types.js';

/** The headers of an answer. */
export type Fields = { [name: string]: string };

/** An answer to a refused request. */
export interface Answer {
  readonly status: number;
  readonly headers: Fields;
  readonly body: string;
}

/** The greatest integer of structured fields (RFC 9651, section 3.3.1). */
const MOST = 999_999_999_999_999;
const SECOND = 1e9;

/** The problem types of draft-ietf-httpapi-ratelimit-headers-10. */
const TYPES = 'https://iana.org/assignments/http-problem-types#';
const QUOTA = ['quota-exceeded', 'Request cannot be satisfied as assigned quota has been exceeded'] as const;
const CAPACITY = [
  'temporary-reduced-capacity',
  'Request cannot be satisfied due to temporary server capacity constraints',
] as const;

const DETAILS: { readonly [reason: string]: string } = {
  rate: 'Too many requests for now.',
  capacity: 'The request costs more than can ever be admitted.',
  open: 'The service is failing and is given time to recover.',
  probes: 'The service is failing and is given time to recover.',
  full: 'The queue is full.',
  wait: 'The wait would take, or took, too long.',
  deadline: 'The turn of the request comes after its deadline.',
  missing: 'The request lacks what it is counted by.',
  denied: 'The policy of the service denies the request.',
  stopped: 'The service is stopping.',
};

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1000);

const gcd = (a: number, b: number): number => (b ? gcd(b, a % b) : a);

/** The rate in the fewest whole seconds in which it is a whole number; no window where the numbers get too big. */
function perSeconds([permits, period]: Quota['rate']): readonly [permits: number, window: number] {
  const nanoseconds = Math.round(period * 1e6);
  const times = SECOND / gcd(nanoseconds, SECOND);
  return permits * times > MOST ? [permits, 0] : [permits * times, (nanoseconds * times) / SECOND];
}

/** The headers about limits. `refused` is the refusal that the answer reports; they agree with its Retry-After. */
export function limitFields(quotas: readonly Quota[], legacy: boolean, refused?: Rejection): Fields {
  const [first] = quotas;
  if (!first) return {};
  const resets = quotas.map(({ step, next, reset, remaining }) => {
    const after = refused?.step === step ? refused.retryAfter : undefined;
    return seconds(after ?? (remaining ? reset : next));
  });
  const fields: Fields = {
    'RateLimit-Policy': quotas
      .map(({ step, rate }) => {
        const [permits, window] = perSeconds(rate);
        return `"${step}";q=${permits}${window ? `;w=${window}` : ''}`;
      })
      .join(', '),
    RateLimit: quotas.map(({ step, remaining }, i) => `"${step}";r=${remaining};t=${resets[i]}`).join(', '),
  };
  if (legacy) {
    const tightest = quotas.reduce(
      (least, quota) => (quota.remaining < least.remaining ? quota : least),
      first,
    );
    fields['X-RateLimit-Limit'] = String(tightest.limit);
    fields['X-RateLimit-Remaining'] = String(tightest.remaining);
    fields['X-RateLimit-Reset'] = String(resets[quotas.indexOf(tightest)]);
  }
  return fields;
}

/** What `fallback` of a policy says. */
export interface Fallback {
  readonly status?: number | undefined;
  readonly body?: string | undefined;
}

/** The answers to requests that no retry helps, by status. */
const FINAL: { readonly [status: number]: string } = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
};

/** Whether no retry of a refused request can help, and no fallback takes the place of the answer. */
export const isFinal = (reason: string): boolean => reason === 'denied' || reason === 'missing';

/**
 * The answer to a refusal: 429 where a limit refused, 403 where the policy denies, 400 or what `missing` says where a
 * request lacks its key, 503 for all else. `limits` are the limits of the policy.
 */
export function rejection(refused: Rejection, limits: readonly Quota[], missing = 'deny'): Answer {
  const { step, reason, retryAfter } = refused;
  if (isFinal(reason)) {
    const status = reason === 'denied' ? 403 : Number(missing.slice('deny-'.length)) || 400;
    const detail = DETAILS[reason];
    return problem({ type: 'about:blank', title: FINAL[status], status, detail, reason, step });
  }
  const over = limits.some((quota) => quota.step === step);
  const [type, title] = over ? QUOTA : CAPACITY;
  const status = over ? 429 : 503;
  const detail = DETAILS[reason];
  const known = retryAfter !== undefined || reason !== 'capacity';
  return problem(
    { type: TYPES + type, title, status, detail, 'violated-policies': [step], reason, step },
    // At least a second, also where the step knows no time.
    known ? { 'Retry-After': String(Math.max(1, seconds(retryAfter ?? 0))) } : {},
  );
}

/** The answer to a request that a timeout of the policy cut. */
export const late = (step: string): Answer =>
  problem({
    type: 'about:blank',
    title: 'Service Unavailable',
    status: 503,
    detail: 'The request took longer than it may.',
    reason: 'timeout',
    step,
  });

/** What a chaos step injected. Compared by name: this file has none of the core. */
export interface Injected {
  readonly name: 'InjectedError';
  readonly step: string;
  readonly outcome: Outcome;
  readonly retryAfter: number | undefined;
}

/** The answers to injected results, where the policy has the default outcomes. */
const INJECTED: { readonly [outcome: string]: readonly [status: number, title: string] } = {
  throttle: [429, 'Too Many Requests'],
  ignore: [400, 'Bad Request'],
};

/** The answer to a request that a chaos step ended. */
export const injected = ({ step, outcome, retryAfter }: Injected): Answer => {
  const [status, title] = INJECTED[outcome] ?? [503, 'Service Unavailable'];
  const detail = 'A chaos step of the policy gives this answer in place of the service.';
  return problem(
    { type: 'about:blank', title, status, detail, reason: 'injected', step },
    retryAfter === undefined ? {} : { 'Retry-After': String(seconds(retryAfter)) },
  );
};

const UNREADABLE = {
  target: 'The target of the request is neither a path nor an http URL.',
  host: 'The host of the request is no host, or there are two.',
};

/** The answer to a request whose target or host can be read in several ways. */
export const unread = (reason: keyof typeof UNREADABLE): Answer =>
  problem({ type: 'about:blank', title: 'Bad Request', status: 400, detail: UNREADABLE[reason], reason });

/** The answer to a request that has several values of an attribute. */
export const twofold = (attribute: string): Answer =>
  problem({
    type: 'about:blank',
    title: 'Bad Request',
    status: 400,
    detail: `The request has more than one ${attribute.replace(':', ' ')}.`,
    reason: 'key',
  });

function problem(
  document: { status: number; reason: string; [name: string]: unknown },
  more: Fields = {},
): Answer {
  return {
    status: document.status,
    headers: {
      'X-Throttle-Reason': document.reason,
      'Cache-Control': 'no-store',
      'Content-Type': 'application/problem+json',
      ...more,
    },
    body: `${JSON.stringify(document)}\n`,
  };
}

/** An answer with the policy's fallback in the place of the problem document. */
export function replaced(answer: Answer, { status = 503, body = '' }: Fallback): Answer {
  const type = isDocument(body) ? 'application/json' : 'text/plain; charset=utf-8';
  return { status, headers: { ...answer.headers, 'Content-Type': type }, body };
}

function isDocument(body: string): boolean {
  if (!/^[{[]/.test(body)) return false;
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
}
