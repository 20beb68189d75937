// The bytes of a module from the text that the build puts in, see ../../scripts/text.mjs.

/** The values of the characters; those that a string has to escape have none. */
function valuesOf(): number[] {
  const values: number[] = [];
  let next = 0;
  for (let code = 32; code < 127; code++) {
    if (!'"$\'\\`'.includes(String.fromCharCode(code))) values[code] = next++;
  }
  return values;
}

/** How many values of bytes are one character; two more characters begin a pair. */
const SINGLES = 88;

/**
 * The bytes of a text. An error where their number or their FNV-1a differs from the build: a module from a text that
 * was changed would be another program.
 */
export function bytesOf(text: string, size: number, digest: number): Uint8Array<ArrayBuffer> {
  const values = valuesOf();
  const codes = new TextEncoder().encode(text);
  /** The bytes by their values: the bytes of one character, then the bytes of two. */
  const ordered: number[] = [];
  const pairs: number[] = [];
  for (let byte = 0; byte < 256; byte++) {
    const bits = values[codes[byte >> 2] as number] ?? 0;
    (bits & (1 << (byte % 4)) ? ordered : pairs).push(byte);
  }
  ordered.push(...pairs);
  const bytes = new Uint8Array(size);
  let at = 64;
  let hash = 0x811c9dc5;
  // Most of it runs before an engine has compiled it: a plain loop takes half the time of one with functions.
  for (let i = 0; i < size; i++) {
    let value = values[codes[at++] as number] as number;
    if (value >= SINGLES)
      value += (value - SINGLES) * (SINGLES - 1) + (values[codes[at++] as number] as number);
    const byte = ordered[value] as number;
    hash = Math.imul(hash ^ byte, 0x1000193);
    bytes[i] = byte;
  }
  if (at !== codes.length || hash >>> 0 !== digest) {
    throw new Error('@sluice/core: the text of the module was changed');
  }
  return bytes;
}
