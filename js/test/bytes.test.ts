import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
// @ts-expect-error a script
import { ALPHABET, digest, textOf } from '../scripts/text.mjs';
import { bytesOf } from '../src/engine/bytes.js';

const folder = new URL('../../wasm/', import.meta.url);
const modules = readdirSync(folder).filter((name) => name.endsWith('.wasm'));

test('the text of a module has its bytes and compresses like it', () => {
  expect(modules.length).toBeGreaterThan(4);
  for (const name of modules) {
    const bytes = readFileSync(new URL(name, folder));
    const text = textOf(bytes);
    expect(Buffer.compare(bytesOf(text, bytes.length, digest(bytes)), bytes)).toBe(0);
    expect(gzipSync(text, { level: 9 }).length).toBeLessThan(1.02 * gzipSync(bytes, { level: 9 }).length);
    expect(JSON.stringify(text)).toBe(`"${text}"`);
  }
});

test('any bytes have a text', () => {
  for (const length of [0, 1, 255, 256, 5000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * i * 31 + i) & 255);
    expect(bytesOf(textOf(bytes), length, digest(bytes))).toEqual(bytes);
  }
  const all = Uint8Array.from({ length: 256 }, (_, i) => i);
  expect([...textOf(all)].every((c) => ALPHABET.includes(c))).toBe(true);
});

test('a text that was changed is an error', () => {
  const bytes = readFileSync(new URL('retry.wasm', folder));
  const text = textOf(bytes);
  const sum = digest(bytes);
  for (const wrong of [
    `${text}a`,
    text.slice(1),
    text.slice(0, -1),
    '',
    text.replace('a', 'b'),
    text.replace('b', '"'),
    `\u00e9${text}`,
  ]) {
    expect(() => bytesOf(wrong, bytes.length, sum)).toThrow('the text of the module was changed');
  }
  expect(() => bytesOf(text, bytes.length, sum ^ 1)).toThrow('was changed');
  expect(() => bytesOf(text, bytes.length - 1, sum)).toThrow('was changed');
});
