import { clientOf, writeIP } from '../base/prefixes.js';
import { credentialOf, isCredential, trimmed } from '../pipeline/credentials.js';
import type { Attributes } from '../pipeline/keys.js';

/** A request as a policy sees it. */
export interface Incoming {
  readonly method: string;
  /** The path and the query. */
  readonly url: string;
  /** The value of a header by its name in lower case; several lines joined by `, `. */
  header(name: string): string | undefined;
  /** The address of the client; empty where it is not known. */
  readonly ip: string;
  /** Removes a header by its name in lower case, where the request can be changed. */
  drop?(name: string): void;
  /** The pattern of the route, where the framework knows it. */
  readonly route?: string | undefined;
}

/** How many bits of an address of IPv6 are the key of `per: ip`: a network has at least 64 (RFC 4291, section 2.5.4). */
const NETWORK = 64;

/** The attributes of a request that came in, for `per`. */
export const attributesOf =
  (request: Incoming): Attributes =>
  (attribute) => {
    const [kind, name = ''] = attribute.split(/:(.*)/);
    switch (kind) {
      case 'method':
        return request.method;
      case 'ip':
        return ipOf(request.ip);
      case 'host':
        return hostOf(request.header('host') ?? '');
      case 'route':
        return request.route;
      case 'path':
        return addressOf(request).pathname;
      case 'header':
        return fieldOf(name, request.header(name));
      default:
        return valuesOf(request, attribute)[0];
    }
  };

/** The value of a header as a key: the same for all spellings that mean the same to an application. */
function fieldOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  return isCredential(`header:${name.toLowerCase()}`) ? credentialOf(text) : trimmed(text);
}

/** Fields that say how a connection is used, and those by which hops tell of the hops before them. */
const KEPT =
  /^(close|connection|keep-alive|upgrade|te|trailer|transfer-encoding|http2-settings|forwarded|x-forwarded-.*)?$/;

/**
 * A request without the headers that its Connection names: a proxy removes them, and what stands behind one would serve a
 * request without the key by which it was counted.
 */
export function withoutListed(request: Incoming): Incoming {
  const listed = (request.header('connection') ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !KEPT.test(name));
  if (!listed.length) return request;
  for (const name of listed) request.drop?.(name);
  const header = (name: string): string | undefined =>
    listed.includes(name.toLowerCase()) ? undefined : request.header(name);
  return { ...request, header };
}

const HOST = /^(\[[\da-f:.]+\]|[\w.~!$&'()*+,;=-]+)(:\d*)?$/i;

/**
 * Why a request is refused whose target is neither a path nor an http URL without a user, or whose host is no host: what
 * stands behind might read another path or host from it.
 */
export function unreadable({ method, url, header }: Incoming): 'target' | 'host' | undefined {
  const form = /^(?:https?:\/\/([^/?#]*))?(?=\/|\?|$)[^#\s]*$/i.exec(url);
  const [, authority] = form ?? [];
  if (
    !(url === '*' && method === 'OPTIONS') &&
    (!form || url === '' || (authority === undefined && url[0] !== '/'))
  ) {
    return 'target';
  }
  const hosts = [authority, header('host') || undefined];
  return hosts.every((host) => host === undefined || HOST.test(host)) ? undefined : 'host';
}

/**
 * The first attribute that a request has with several values. Which of them the application reads is
 * not known, so that one client could take the limit of another.
 */
export const ambiguous = (request: Incoming, attributes: readonly string[]): string | undefined =>
  attributes.find((attribute) => new Set(valuesOf(request, attribute)).size > 1);

/** The values of a query parameter or a cookie. */
function valuesOf(request: Incoming, attribute: string): readonly string[] {
  const [kind, name = ''] = attribute.split(/:(.*)/);
  if (kind === 'query') return addressOf(request).searchParams.getAll(name);
  if (kind !== 'cookie') return [];
  const pairs = (request.header('cookie') ?? '').split(/; */).map((pair) => pair.split(/=(.*)/));
  return pairs.filter(([key]) => key === name).map(([, value = '']) => value);
}

/** The path and the query of an absolute address. */
export const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};

const addressOf = ({ url }: Incoming): URL => new URL(url.replace(/^\/+/, '/'), 'http://host');

/** A host without its port. */
const hostOf = (host: string): string =>
  host
    .replace(/^(\[.*\]|[^:]*):\d*$/, '$1')
    .replace(/^\[|\]$|\.$/g, '')
    .toLowerCase();

/** The value of the attribute `ip`: the whole address, of IPv6 with the number of bits that are its key. */
export function ipOf(ip: string): string {
  const client = clientOf(ip);
  if (!client) return ip;
  const text = writeIP(client);
  return text.includes(':') ? `${text}/${NETWORK}` : text;
}
