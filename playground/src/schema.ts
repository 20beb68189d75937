// What the JSON Schema allows at a place of a text in YAML, for completion and for the texts under the pointer.
// codemirror-json-schema 0.8.1 completes nothing below the first level of this schema, and throws on its policies.

import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { isMap, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';

export interface Schema {
  $ref?: string;
  $defs?: { [name: string]: Schema };
  description?: string;
  type?: string | string[];
  properties?: { [name: string]: Schema };
  additionalProperties?: Schema | boolean;
  patternProperties?: { [pattern: string]: Schema };
  items?: Schema | boolean;
  prefixItems?: Schema[];
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  default?: unknown;
}

type Path = readonly (string | number)[];

const HERE = 'completed__here';

/** The schemas of a place, without references and alternatives. */
export function at(root: Schema, path: Path): Schema[] {
  let all = flat(root, root);
  for (const key of path) {
    all = all.flatMap((schema) => child(schema, key)).flatMap((schema) => flat(root, schema));
  }
  return all;
}

function flat(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > 20) return [];
  const more = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (schema.$ref) {
    const parts = schema.$ref.replace(/^#\/?/, '').split('/').filter(Boolean);
    let to: unknown = root;
    for (const part of parts)
      to = (to as { [name: string]: unknown } | undefined)?.[part.replaceAll('~1', '/')];
    if (to) more.push(to as Schema);
  }
  return [schema, ...more.flatMap((one) => flat(root, one, depth + 1))];
}

function child(schema: Schema, key: string | number): Schema[] {
  if (typeof key === 'number') {
    const one = schema.prefixItems?.[key] ?? schema.items;
    return typeof one === 'object' ? [one] : [];
  }
  const own = schema.properties?.[key];
  if (own) return [own];
  const patterns = Object.entries(schema.patternProperties ?? {}).filter(([p]) =>
    new RegExp(p, 'u').test(key),
  );
  if (patterns.length) return patterns.map(([, one]) => one);
  return typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : [];
}

interface Place {
  path: Path;
  /** A key of the map at the path, else the value at the path. */
  key: boolean;
  /** The keys that the map has. */
  present: ReadonlySet<string>;
}

/** The path of the place that is completed, where the word from..to is. */
function placeOf(text: string, from: number, to: number): Place | undefined {
  const line = text.slice(text.lastIndexOf('\n', from - 1) + 1, from);
  const end = text.indexOf('\n', to);
  const rest = text.slice(to, end < 0 ? text.length : end);
  const begins = /^[\s-]*$|[{,]\s*$|[{[,]\s*-?\s*$/.test(line);
  const named = /^\s*:/.test(rest);
  const document = parseDocument(
    `${text.slice(0, from)}${HERE}${begins && !named ? ':' : ''} ${text.slice(to)}`,
  );
  let found: Place | undefined;
  visit(document, {
    Scalar(key, node, ancestors) {
      if (found || !String(node.value).includes(HERE)) return;
      const path: (string | number)[] = [];
      ancestors.forEach((ancestor, i) => {
        const next = ancestors[i + 1] ?? node;
        if (isPair(ancestor) && isScalar(ancestor.key) && ancestor.key !== next)
          path.push(String(ancestor.key.value));
        if (isSeq(ancestor)) path.push(ancestor.items.indexOf(next));
      });
      const map = ancestors.findLast((one) => isMap(one));
      const keys = isMap(map)
        ? map.items.map((pair) => String(isScalar(pair.key) ? pair.key.value : ''))
        : [];
      found = { path, key: key === 'key', present: new Set(keys) };
    },
  });
  return found;
}

/** Completes names and values. */
export function completes(root: () => Schema) {
  return (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/[\w$-]*/);
    const from = word?.from ?? context.pos;
    const text = context.state.doc.toString();
    const before = text.slice(Math.max(0, from - 2), from);
    if (!context.explicit && word?.text === '' && !/[:{[,-] ?$/.test(before)) return null;
    const place = placeOf(text, from, context.pos);
    if (!place) return null;
    const schemas = at(root(), place.path);
    const options = new Map<string, Completion>();
    if (place.key) {
      const follows = /^\s*:/.test(text.slice(context.pos));
      for (const schema of schemas) {
        for (const [name, one] of Object.entries(schema.properties ?? {})) {
          if (place.present.has(name) || options.has(name)) continue;
          options.set(name, {
            label: name,
            type: 'property',
            apply: follows ? name : `${name}: `,
            ...described(flat(root(), one)),
          });
        }
      }
    } else {
      for (const schema of schemas) {
        const words = [...(schema.enum ?? []), ...(schema.examples ?? [])];
        if (schema.const !== undefined) words.push(schema.const);
        if (schema.type === 'boolean') words.push(true, false);
        for (const value of words) {
          const label = flow(value);
          if (!options.has(label)) options.set(label, { label, type: 'constant', ...described([schema]) });
        }
      }
    }
    return options.size ? { from, options: [...options.values()], validFor: /^[\w$-]*$/ } : null;
  };
}

/** A value in YAML on one line. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, one]) => `${key}: ${flow(one)}`)
      .join(', ')}}`;
  return typeof value === 'string' && !/^[\w./%-]+$/.test(value) ? JSON.stringify(value) : String(value);
}

function described(schemas: readonly Schema[]): { info?: string } {
  const text = schemas.find(({ description }) => description)?.description;
  return text ? { info: text } : {};
}

/** The description of the setting whose name is at a position, and where the name is. */
export function describedAt(
  root: Schema,
  text: string,
  position: number,
): { from: number; to: number; text: string } | undefined {
  const left = /[\w$-]*$/.exec(text.slice(0, position))?.[0].length ?? 0;
  const right = /^[\w$-]*/.exec(text.slice(position))?.[0].length ?? 0;
  const [from, to] = [position - left, position + right];
  if (from === to || !/^\s*:/.test(text.slice(to))) return undefined;
  const place = placeOf(text, from, to);
  if (!place?.key) return undefined;
  const own = at(root, [...place.path, text.slice(from, to)]);
  const { info } = described(own);
  return info === undefined ? undefined : { from, to, text: info };
}
