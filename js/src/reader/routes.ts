import { lower, quote } from './bytes.js';
import { fieldsOf } from './fields.js';
import { checkHTTP } from './http.js';
import { readMethods } from './methods.js';
import { LONGEST_NAME, validName } from './names.js';
import { LIST, type Node } from './node.js';
import type { Problems } from './problems.js';
import { isText } from './quantities.js';
import { unknownPolicy } from './unknown-policy.js';

const MAX_ROUTES = 10_000;
const PATH_TEXT = 'a path that begins with a slash, as in /api/**';
const HOST_TEXT =
  'a host in lower case without a port, as in api.example.com, or *.example.com for all below it';
/** What a route may have in place of a policy: its requests pass. */
const PASS = 'pass';
const POLICY_TEXT = `${PASS}, or the name of a policy of this document`;

/** Reads the list of routes of a document with policies of these names. */
export function checkRoutes(problems: Problems, n: Node, names: readonly string[]): void {
  if (n.kind !== LIST) {
    problems.mistyped(n, 'a list of routes');
    return;
  }
  problems.atMost(MAX_ROUTES, n, 'routes');
  for (const item of n.items) checkRoute(problems, item, names);
}

function checkRoute(problems: Problems, n: Node, names: readonly string[]): void {
  const allowed = 'a route: a map of path, method, host and policy';
  const fields = fieldsOf(problems, n, allowed, ['path', 'method', 'host', 'policy', 'http']);
  const path = fields?.need('path', PATH_TEXT);
  if (path) checkPath(problems, path);
  const method = fields?.get('method');
  if (method) readMethods(problems, method);
  const host = fields?.get('host');
  if (host) checkHost(problems, host);
  const policy = fields?.need('policy', POLICY_TEXT);
  if (policy && isText(problems, policy, POLICY_TEXT) && ![PASS, ...names].includes(policy.text)) {
    unknownPolicy(problems, policy, policy.text, names, { alone: PASS });
  }
  const http = fields?.get('http');
  if (http) checkHTTP(problems, http);
}

/** Reads the pattern of a path. */
function checkPath(problems: Problems, n: Node): void {
  if (!isText(problems, n, PATH_TEXT)) return;
  const { text } = n;
  if (text[0] !== '/') {
    problems.mistyped(n, PATH_TEXT);
  } else if (/[^!-~]|[?#]/.test(text)) {
    const more = ', without a query, in the characters that a request has: ASCII, others as %XX';
    problems.mistyped(n, PATH_TEXT + more);
  } else {
    const wrong = text.split('/').find((one) => /^\.\.?$/.test(one) || !/^([^*]*|\*\*?)$/.test(one));
    if (wrong === undefined) return;
    const stars = `* for one segment between slashes, ** for any number of them; ${quote(wrong)} is neither`;
    problems.mistyped(n, wrong.includes('*') ? stars : `${PATH_TEXT}, without the segments . and ..`);
  }
}

/** Whether a host is labels between dots, the first of them perhaps a star. */
const validHost = (host: string): boolean =>
  host
    .replace(/^\*\./, '')
    .split('.')
    .every((label) => validName(label) && !label.endsWith('-'));

/** Reads a host, or *. and a host. */
function checkHost(problems: Problems, n: Node): void {
  const { text } = n;
  if (!isText(problems, n, HOST_TEXT) || validHost(text)) return;
  const near = lower(text);
  problems.mistyped(n, HOST_TEXT, text.length <= LONGEST_NAME && validHost(near) ? near : '');
}
