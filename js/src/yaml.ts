// Policies in YAML, where the package `yaml` is installed.

import { parseDocument } from 'yaml';
import type { Policy, PolicyDocument } from './pipeline/policy.js';

/**
 * Reads a policy document, or the body of one policy, in YAML 1.2, for `pipeline`, `policy`, `resilientFetch` and
 * `evaluate`. Throws an `Error` with the places of what is no YAML and of keys that are there twice; what is no
 * policy is found by the function that takes it.
 *
 * @example
 * const vendor = policy(parse(await readFile('policy.yaml', 'utf8')), 'vendor');
 */
export function parse(text: string): PolicyDocument | Policy {
  const document = parseDocument(text, { version: '1.2', schema: 'core', merge: false, uniqueKeys: true });
  const problems = [...document.errors, ...document.warnings];
  if (problems.length) throw new Error(problems.map(({ message }) => message).join('\n'));
  return document.toJS({ maxAliasCount: MOST_ALIASES }) as PolicyDocument | Policy;
}

/** More aliases than a document needs make a text of a few bytes fill the memory. */
const MOST_ALIASES = 100;
