import { quote } from './bytes.js';
import type { Fields } from './fields.js';
import { NAME_TEXT, nearName, RESERVED, RESERVED_FOUND, RESERVED_TEXT, validName } from './names.js';
import { BOOL, type Node, TEXT } from './node.js';
import type { Problems } from './problems.js';
import { asBool, asWord, isText } from './quantities.js';
import type { Step } from './result.js';
import { attributeOf } from './row.js';
import { type Mechanism, type Readers, Settings } from './settings.js';

/** The settings that every mechanism has, behind its own. */
const OF_CELLS = ['per', 'keys', 'when_full', 'missing', 'scope'];
const OF_CALLS = ['when', 'enforce'];
export const COMMON: readonly string[] = [
  'name',
  'shadow',
  ...OF_CALLS,
  ...OF_CELLS,
  'description',
  'defaults',
];

/** Reads the settings of keys of a step with cells. */
export type KeysReader = (fields: Fields, step: Step) => void;

/** What reads the parts of a step that a mechanism alone does not have. */
export interface StepReaders {
  readonly conditions: (fields: Fields, step: Step) => void;
  /** The steps of its classes. */
  readonly classes: (settings: Settings, step: Step) => Step[];
}

/** A step, and the steps of its classes, which are in front of it. */
export interface ReadStep {
  readonly step: Step;
  readonly classes: readonly Step[];
}

/** Whether steps of a mechanism may have cells. */
export const hasCells = ({ row, needsCells }: Mechanism): boolean =>
  row.stateless === undefined || needsCells !== undefined;

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
  more?: StepReaders,
): ReadStep {
  const { row } = mechanism;
  const settings = new Settings(problems, mechanism, readers);
  settings.read(entry, COMMON);
  const step: Step = {
    mechanism: row.name,
    kind: row.kind,
    name: unnamed,
    shadow: false,
    when: [],
    enforce: { of: 0, by: '' },
    className: '',
    at: 0,
    per: [],
    keys: 0,
    whenFull: 0,
    missing: 0,
    cells: row.stateless === undefined || (mechanism.needsCells?.(settings) ?? false),
    values: settings.all(),
    dated: settings.dated(),
    cost: attributeOf(settings.get('cost')),
    shares: '',
  };
  const { fields } = settings;
  if (!fields) return { step, classes: [] };
  const name = fields.get('name');
  if (name) step.name = stepName(problems, name);
  const shadow = fields.get('shadow');
  if (shadow) step.shadow = asBool(problems, shadow);
  if (more) more.conditions(fields, step);
  else for (const name of OF_CALLS) fields.refuse(name, 'on a mechanism alone', 'in a pipeline');
  checkTexts(problems, fields);
  if (!step.cells) {
    const allowed =
      'only on a limit, a breaker, a bulkhead, a retry with a budget, or a hedge with a percentile or a budget';
    for (const of of OF_CELLS) fields.refuse(of, row.stateless ?? '', allowed);
  } else {
    readKeys(fields, step);
    checkScope(problems, fields);
  }
  return { step, classes: more?.classes(settings, step) ?? [] };
}

/** Reads what changes no decision: the description, and whether the step takes the defaults of its document. */
function checkTexts(problems: Problems, fields: Fields): void {
  const description = fields.get('description');
  if (description) isText(problems, description, 'a text');
  const defaults = fields.get('defaults');
  if (defaults?.kind === BOOL && defaults.text === 'false') {
    const allowed = 'defaults: false beside defaults of the document for the mechanism';
    problems.failKey(defaults, 'defaults where there are none for the step', allowed);
  } else if (defaults) {
    problems.mistyped(defaults, 'false, for a step without the defaults of the document');
  }
}

/** Reads the scope of cells. */
export function checkScope(problems: Problems, fields: Fields): void {
  const scope = fields.get('scope');
  if (scope?.kind === TEXT && scope.text === 'shared') {
    problems.mistyped(scope, 'local; shared needs a store, which this version does not have');
  } else if (scope) {
    asWord(problems, scope, ['local']);
  }
}

/** Reads the name of a step; it is empty where it is no text. */
export function stepName(problems: Problems, n: Node): string {
  if (!isText(problems, n, NAME_TEXT)) return '';
  const { text } = n;
  if (text === RESERVED) {
    problems.fail(n, RESERVED_FOUND, RESERVED_TEXT);
  } else if (!validName(text)) {
    problems.fail(n, `the name ${quote(text)}`, NAME_TEXT, nearName(text));
  }
  return text;
}

/** Refuses the settings of keys: one mechanism alone has one cell. */
export const noKeys: KeysReader = (fields) => {
  for (const name of OF_CELLS.slice(0, -1)) fields.refuse(name, 'on a mechanism alone', 'in a pipeline');
};
