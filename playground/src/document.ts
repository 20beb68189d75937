// Scenarios in YAML, as JSON for the simulator, and where in the text a setting is.

import { isAlias, isMap, isPair, isScalar, isSeq, type Node, parseDocument } from 'yaml';

/** Something that is wrong at a place of a text. */
export interface Problem {
  from: number;
  to: number;
  message: string;
}

/** A text in YAML. */
export class Source {
  private readonly document;

  constructor(readonly text: string) {
    this.document = parseDocument(text, { version: '1.2', schema: 'core', merge: false, uniqueKeys: true });
  }

  /** What is no YAML. */
  get problems(): Problem[] {
    return this.document.errors.map(({ pos: [from, to], message }) => ({
      from,
      to: Math.max(to, from + 1),
      message: message.split('\n')[0]?.replace(/ at line \d+.*$/, '') ?? message,
    }));
  }

  /** The document as JSON. The entries that are given replace the entries of the same name. */
  json(replaced: { [name: string]: string } = {}): string {
    const root = this.document.contents;
    if (!isMap(root)) return this.of(root);
    const entries = root.items
      .map(({ key, value }) => [String(isScalar(key) ? key.value : key), value as Node | null] as const)
      .filter(([name]) => !(name in replaced))
      .map(([name, value]) => `${JSON.stringify(name)}:${this.of(value)}`);
    for (const [name, json] of Object.entries(replaced)) entries.push(`${JSON.stringify(name)}:${json}`);
    return `{${entries.join(',')}}`;
  }

  /** The JSON of an entry of the document, undefined where there is none. */
  entry(name: string): string | undefined {
    const root = this.document.contents;
    const value = isMap(root) ? root.get(name, true) : undefined;
    return value ? this.of(value as Node) : undefined;
  }

  /** The text of an entry of the document, with its name. */
  entryText(name: string): string {
    const root = this.document.contents;
    const pair = isMap(root) ? root.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
    if (!pair || !isScalar(pair.key)) return '';
    const from = pair.key.range?.[0] ?? 0;
    const to = (pair.value as Node | null)?.range?.[1] ?? from;
    return `${this.text.slice(from, to).trimEnd()}\n`;
  }

  /** Where the setting of a path is, as in `clients[0].arrivals`, or the nearest map or list around it. */
  place(path: string): { from: number; to: number } {
    let at: Node | null = this.document.contents;
    let range: readonly number[] | null | undefined = at?.range;
    for (const [, name, index, quoted] of path.matchAll(
      /([\w$-]+)(?!\w*")(?=[.[]|$)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g,
    )) {
      let next: unknown;
      if (index !== undefined) next = isSeq(at) ? at.items[Number(index)] : undefined;
      else if (isMap(at)) {
        const key = quoted === undefined ? name : JSON.parse(`"${quoted}"`);
        const pair = at.items.find((one) => isScalar(one.key) && String(one.key.value) === key);
        next = pair?.value;
        if (pair && isScalar(pair.key)) range = pair.key.range;
      }
      if (!next || isPair(next)) break;
      at = next as Node;
      range = isScalar(at) || index !== undefined ? (at.range ?? range) : range;
    }
    const from = range?.[0] ?? 0;
    const end = this.text.indexOf('\n', from);
    const to = Math.min(range?.[1] ?? from, end < 0 ? this.text.length : end);
    return { from, to: Math.max(to, Math.min(from + 1, this.text.length)) };
  }

  private of(node: Node | null): string {
    if (isAlias(node)) return this.of((node.resolve(this.document) as Node | undefined) ?? null);
    if (isMap(node)) {
      const entries = node.items.map(
        ({ key, value }) =>
          `${JSON.stringify(String(isScalar(key) ? key.value : key))}:${this.of(value as Node | null)}`,
      );
      return `{${entries.join(',')}}`;
    }
    if (isSeq(node)) return `[${node.items.map((item) => this.of(item as Node)).join(',')}]`;
    if (!isScalar(node)) return 'null';
    // The digits of the text: a seed of 64 bits is more than a number of JavaScript holds.
    const { value, source } = node;
    if (typeof value === 'number' && source && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(source))
      return source;
    return JSON.stringify(value ?? null);
  }
}

/** The lines of an error of the simulator, at their places. */
export function problemsOf(message: string, source: (path: string) => Source | undefined): Problem[] {
  return message.split('\n').flatMap((line) => {
    const [, path = '', text = line] = /^scenario:\d+:\d+: (?:([^\s:]+): )?(.*)$/.exec(line) ?? [];
    const own = source(path);
    return own ? [{ ...own.place(path), message: path ? `${path}: ${text}` : text }] : [];
  });
}
