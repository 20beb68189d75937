import { MECHANISMS } from '../generated/mechanisms.js';
import { Fields, fieldsOf } from './fields.js';
import { type MechanismName, READERS } from './mechanisms.js';
import type { Node } from './node.js';
import { readKeys } from './per.js';
import type { Problems } from './problems.js';
import { asBool } from './quantities.js';
import { settingsOf } from './resolve.js';
import { type Mechanism, namesOf, Settings } from './settings.js';
import { checkScope, hasCells } from './step.js';

/**
 * Checks the defaults of a document, each by itself: what a step needs, and what its settings
 * exclude, concerns the steps that take them.
 */
export function checkDefaults(problems: Problems, n: Node): void {
  const names = Object.keys(MECHANISMS) as MechanismName[];
  const fields = fieldsOf(problems, n, 'a map of mechanisms and their settings', names);
  for (const name of names) {
    const entry = fields?.get(name);
    if (entry) checkMechanism(problems, entry, MECHANISMS[name]);
  }
}

function checkMechanism(problems: Problems, entry: Node, mechanism: Mechanism): void {
  const { row } = mechanism;
  const n = settingsOf(entry, mechanism);
  if (!n) {
    problems.mistyped(entry, row.form);
    return;
  }
  const keyed = hasCells(mechanism) ? ['per', 'keys', 'when_full', 'missing', 'scope'] : [];
  const fields = new Fields(problems, n, [...namesOf(row.settings), 'shadow', ...keyed]);
  const settings = new Settings(problems, mechanism, READERS);
  for (const part of row.settings) {
    const value = fields.get(part.name);
    if (value) settings.value(part, part.name, value);
  }
  const shadow = fields.get('shadow');
  if (shadow) asBool(problems, shadow);
  readKeys(fields, { per: [], keys: 0, whenFull: 0, missing: 0 }, false);
  checkScope(problems, fields);
}
