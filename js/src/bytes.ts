// The bytes of a module from the text that the build puts in, see ../scripts/text.mjs.

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
 * The bytes of a text. An error where their number or their FNV-1a is not that of the build: a module from a
 * text that was changed would be another program.
 */
export function bytesOf(text: string, size: number, digest: number): Uint8Array<ArrayBuffer> {
  const values = valuesOf();
  let at = 0;
  const next = (): number => values[text.charCodeAt(at++)] ?? -1;
  const singles: number[] = [];
  const pairs: number[] = [];
  for (let byte = 0, bits = 0; byte < 256; byte++) {
    if (byte % 4 === 0) bits = next();
    (bits & (1 << (byte % 4)) ? singles : pairs).push(byte);
  }
  const bytes = new Uint8Array(size);
  let hash = 0x811c9dc5;
  for (let i = 0; i < size; i++) {
    const value = next();
    const byte = value < SINGLES ? singles[value] : pairs[(value - SINGLES) * SINGLES + next()];
    hash = Math.imul(hash ^ (byte ?? -1), 0x1000193);
    bytes[i] = byte ?? 0;
  }
  if (at !== text.length || hash >>> 0 !== digest) {
    throw new Error('@sluice/core: the text of the module was changed');
  }
  return bytes;
}
