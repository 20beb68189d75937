import { quote } from './bytes.js';
import { checkDefaults } from './defaults.js';
import { fieldsOf } from './fields.js';
import { checkDocumentHTTP } from './http.js';
import { NAME_TEXT, nearName, POLICY_NAMES, validName } from './names.js';
import { MAP, type Node, NUMBER } from './node.js';
import { readOf } from './policy.js';
import type { Problems } from './problems.js';
import { checkProxy } from './proxy.js';
import { isText } from './quantities.js';
import { resolve } from './resolve.js';
import type { ReadPolicy } from './result.js';
import { checkRoutes } from './routes.js';
import { unknownPolicy } from './unknown-policy.js';
import { readMechanisms } from './uses.js';

const NAMES = ['version', 'defaults', 'mechanisms', 'policies', 'routes', 'http', 'proxy', '$schema'];
const MAX_POLICIES = 1000;

const NONE: ReadPolicy = { steps: [], fallback: false };

/** Reads a whole document, checks all of it, and returns its policy of a name; an empty name is the only policy. */
export function readDocument(problems: Problems, root: Node, name: string): ReadPolicy {
  const policies = readDocuments(problems, root);
  const names = [...policies.keys()];
  const policy = policies.get(name || names.length > 1 ? name : (names[0] ?? ''));
  const n = root.items.find(({ key }) => key === 'policies');
  if (n && !policy && problems.none) unknownPolicy(problems, n, name, names);
  return policy ?? NONE;
}

/** Reads a whole document, checks all of it, and returns its policies by their names. */
export function readDocuments(problems: Problems, root: Node): Map<string, ReadPolicy> {
  const fields = fieldsOf(problems, root, 'a policy document: a map of version, policies and routes', NAMES);
  if (!fields) return new Map();
  const version = fields.need('version', 'the version of the format, 1');
  if (version && (version.kind !== NUMBER || version.text !== '1')) {
    problems.mistyped(version, 'the number 1, the version of the format');
  }
  const schema = fields.get('$schema');
  if (schema) isText(problems, schema, 'the address of the JSON Schema, for editors');
  const n = fields.need('policies', 'a map of policies by name');
  const defaults = fields.get('defaults');
  if (defaults) checkDefaults(problems, defaults);
  const mechanisms = fields.get('mechanisms');
  if (mechanisms) readMechanisms(problems, mechanisms, defaults);
  const policies = n ? readPolicies(problems, n, defaults) : new Map<string, ReadPolicy>();
  const names = [...policies.keys()];
  const http = fields.get('http');
  if (http) checkDocumentHTTP(problems, http, names);
  const proxy = fields.get('proxy');
  if (proxy) checkProxy(problems, proxy);
  const routes = fields.get('routes');
  if (routes) checkRoutes(problems, routes, names);
  return policies;
}

/** Reads the map of policies, whose steps take the defaults of the document. */
function readPolicies(problems: Problems, source: Node, defaults?: Node): Map<string, ReadPolicy> {
  const n = resolve(problems, source, MAX_POLICIES, defaults);
  const policies = new Map<string, ReadPolicy>();
  if (n.kind !== MAP || !n.items.length) {
    problems.mistyped(n, 'a map of policies by name, one or more');
    return policies;
  }
  problems.atMost(MAX_POLICIES, n, 'policies');
  const first = new Map<string, Node>();
  for (const entry of n.items) {
    const { key } = entry;
    const other = first.get(key);
    if (other) {
      problems.double(entry, other);
      continue;
    }
    // Past the greatest number the document is refused anyway.
    if (first.size < MAX_POLICIES) first.set(key, entry);
    if (!validName(key)) problems.failKey(entry, `the name ${quote(key)}`, NAME_TEXT, nearName(key));
    const resolved = n !== source;
    if (resolved) problems.within = entry;
    const policy = readOf(problems, entry, POLICY_NAMES);
    policies.set(key, resolved ? { ...policy, plain: policy.plain ?? entry } : policy);
  }
  problems.within = undefined;
  return policies;
}
