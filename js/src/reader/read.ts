import { PolicyError, type Problem } from '../base/errors.js';
import type { Alone } from './alone.js';
import { textOf } from './bytes.js';
import { bytesOfSource, checkSource, Places, readJSON, SyntaxProblem } from './json.js';
import { MAP, Node } from './node.js';
import { Problems, problem } from './problems.js';
import type { Step } from './result.js';
import { type KeysReader, noKeys, readStep } from './step.js';
import { ValueReader } from './values.js';

/** The line of a message about a problem of a source. */
function lineOf(source: string, { line, column, path, found, allowed, nearest }: Problem): string {
  const place = line === undefined ? source : `${source}:${line}:${column}`;
  const near = nearest === undefined ? '' : `; did you mean ${nearest}?`;
  return `${[place, path, `found ${found}`].filter(Boolean).join(': ')}; allowed ${allowed}${near}`;
}

/** What a reader makes of the root of a document. */
type Read<T> = (problems: Problems, root: Node) => T;

/** Returns what a reader makes of a document. Throws all that is wrong with it. */
function settle<T>(source: string, places: Places | undefined, by: (problems: Problems) => T): T {
  const problems = new Problems(places);
  let all: readonly Problem[];
  try {
    const result = by(problems);
    all = problems.all();
    if (!all.length) return result;
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const { at, found, allowed } = error;
    all = [problem('', textOf(found), allowed, '', at === undefined ? [] : places?.of(at))];
  }
  throw new PolicyError('bad-policy', all.map((one) => lineOf(source, one)).join('\n'), all);
}

/** Reads a document or a part of one: JSON as a text or as bytes, or a value as JSON has them. */
export function readSource<T>(source: unknown, by: Read<T>): T {
  if (typeof source === 'string' || source instanceof Uint8Array) {
    return settle('policy', new Places(source), (problems) => {
      checkSource(source);
      return by(problems, readJSON(bytesOfSource(source)));
    });
  }
  return settle('', undefined, (problems) => {
    const root = new Node();
    new ValueReader(problems).read(source, root);
    return by(problems, root);
  });
}

/** Reads the options of a mechanism, which has one cell unless its settings of keys are read, too. */
export function readAlone(options: unknown, { mechanism, readers }: Alone, keys: KeysReader = noKeys): Step {
  return settle('', undefined, (problems) => {
    const root = new Node();
    root.kind = MAP;
    const entry = root.add();
    entry.key = mechanism.row.name;
    new ValueReader(problems).read(options ?? {}, entry);
    return readStep(problems, entry, mechanism, readers, keys).step;
  });
}
