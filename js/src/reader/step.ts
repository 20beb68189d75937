import { quote } from './bytes.js';
import type { Fields } from './fields.js';
import { NAME_TEXT, nearName, validName } from './names.js';
import { type Node, TEXT } from './node.js';
import type { Problems } from './problems.js';
import { asBool, asWord, isText } from './quantities.js';
import { type Mechanism, type Readers, Settings, type Values } from './settings.js';

/** A step that was read. Its texts are in bytes. */
export interface Step {
  /** The name of its mechanism. */
  readonly mechanism: string;
  readonly kind: number;
  name: string;
  shadow: boolean;
  /** The attributes that it has a cell for each value of. */
  per: readonly string[];
  /** The greatest number of keys, 0 without `per`. */
  keys: number;
  /** The indexes of the words. */
  whenFull: number;
  missing: number;
  /** Whether it has cells. */
  cells: boolean;
  /** The values of its settings for the core. */
  values: Values;
}

/** The settings that every mechanism has, behind its own. */
const COMMON = ['name', 'shadow', 'per', 'keys', 'when_full', 'missing', 'scope'];

/** Reads the settings of keys of a step with cells. */
export type KeysReader = (fields: Fields, step: Step) => void;

/**
 * Reads the entry of a step: its mechanism's settings, and those that every mechanism has.
 * `unnamed` is the default of its name.
 */
export function readStep(
  problems: Problems,
  entry: Node,
  mechanism: Mechanism,
  readers: Readers,
  readKeys: KeysReader,
  unnamed = mechanism.row.name,
): Step {
  const { row } = mechanism;
  const settings = new Settings(problems, mechanism, readers);
  settings.read(entry, COMMON);
  const step: Step = {
    mechanism: row.name,
    kind: row.kind,
    name: unnamed,
    shadow: false,
    per: [],
    keys: 0,
    whenFull: 0,
    missing: 0,
    cells: row.stateless === undefined || (mechanism.needsCells?.(settings) ?? false),
    values: settings.all(),
  };
  const { fields } = settings;
  if (!fields) return step;
  const name = fields.get('name');
  if (name) step.name = stepName(problems, name);
  const shadow = fields.get('shadow');
  if (shadow) step.shadow = asBool(problems, shadow);
  if (!step.cells) {
    const allowed =
      'only on a limit, a breaker, a bulkhead, a retry with a budget, or a hedge with a percentile or a budget';
    for (const of of COMMON.slice(2)) fields.refuse(of, row.stateless ?? '', allowed);
    return step;
  }
  readKeys(fields, step);
  const scope = fields.get('scope');
  if (scope?.kind === TEXT && scope.text === 'shared') {
    problems.mistyped(scope, 'local; shared needs a store, which this version does not have');
  } else if (scope) {
    asWord(problems, scope, ['local']);
  }
  return step;
}

/** Reads the name of a step; it is empty where it is no text. */
function stepName(problems: Problems, n: Node): string {
  if (!isText(problems, n, NAME_TEXT)) return '';
  const { text } = n;
  if (text === 'deadline') {
    problems.fail(n, 'the reserved name "deadline"', "any other name; deadline is the caller's own deadline");
  } else if (!validName(text)) {
    problems.fail(n, `the name ${quote(text)}`, NAME_TEXT, nearName(text));
  }
  return text;
}

/** Refuses the settings of keys: one mechanism alone has one cell. */
export const noKeys: KeysReader = (fields) => {
  for (const name of COMMON.slice(2, -1)) fields.refuse(name, 'on a mechanism alone', 'in a pipeline');
};
