// Which values a trace hashes, as internal/recording/redact.go of the repository.

import { hmac } from './sha256.js';

/** Which values of a trace are replaced by hashes: of attributes whose names say that they are secrets, all, or none. */
export type Redact = 'secrets' | 'all' | 'none';

/** Fields of HTTP that carry credentials. */
const FIELDS = /^(proxy-)?authorization$|^(set-)?cookie$/;
/** Parts of the names of headers and queries that carry them. */
const WORDS =
  /token|secret|password|passwd|api-key|apikey|api_key|access-key|access_key|session|signature|credential|jwt|csrf/;

/** Whether the values of an attribute are hashed. */
export function hashes(redact: Redact, attribute: string): boolean {
  if (redact !== 'secrets') return redact === 'all';
  const [kind, name = ''] = attribute.toLowerCase().split(/:(.*)/s);
  if (kind === 'cookie') return true;
  if (kind === 'header' && FIELDS.test(name)) return true;
  return (kind === 'header' || kind === 'query') && WORDS.test(name);
}

/**
 * Returns what hashes values: the first 8 bytes of an HMAC-SHA256 with a key that it alone has, so that equal values have
 * equal hashes, and nothing can be looked up in a table of hashes.
 */
export function hasher(): (value: string) => string {
  const key = crypto.getRandomValues(new Uint8Array(32));
  const encoder = new TextEncoder();
  return (value) => {
    const bytes = hmac(key, encoder.encode(value)).subarray(0, 8);
    return `hash:${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  };
}
