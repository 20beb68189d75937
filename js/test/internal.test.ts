import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
// @ts-expect-error a script
import { NAMES } from '../scripts/internal.mjs';
import { x } from '../src/engine.js';

/** All names of an object and of what it inherits. */
function namesOf(value: object | null): string[] {
  return value ? [...Object.getOwnPropertyNames(value), ...namesOf(Object.getPrototypeOf(value))] : [];
}

/** All names of properties in a JSON Schema. */
function properties(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = Object.keys((schema as { properties?: object }).properties ?? {});
  return [...own, ...Object.values(schema).flatMap(properties)];
}

test('names that the build makes short are used by no other code', () => {
  const schema = JSON.parse(readFileSync(new URL('../../policy/schema.json', import.meta.url), 'utf8'));
  const platform = [
    URL,
    URLSearchParams,
    Response,
    Request,
    Headers,
    AbortSignal,
    AbortController,
    ReadableStream,
    TextEncoder,
    TextDecoder,
    Map,
    Set,
    WeakMap,
    Array,
    Int32Array,
    Float64Array,
    Uint8Array,
    Promise,
    String,
    Number,
    Object,
    Date,
    Error,
    RegExp,
    WebAssembly.Memory,
    WebAssembly.Module,
    WebAssembly.Instance,
    FinalizationRegistry,
  ].flatMap((type) => [...namesOf(type), ...namesOf(type.prototype)]);
  const taken = new Set([
    ...properties(schema),
    ...platform,
    ...namesOf(WebAssembly),
    ...namesOf(Math),
    ...Object.keys(x),
  ]);
  expect(properties(schema)).toContain('failure_rate');
  expect(NAMES.filter((name: string) => taken.has(name))).toEqual([]);
});
