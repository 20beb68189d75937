/**
 * Bytes as text that compresses like the bytes: each byte value is one character or two, so that equal bytes
 * stay equal characters. The 88 most frequent values are one character, the others two. ../src/engine/bytes.ts reads
 * it. The characters need no escape in a string.
 */

/** The characters of the text: all but the last two stand for values, those two begin a pair. */
export const ALPHABET = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))
  .filter((c) => !'"$\'\\`'.includes(c))
  .join('');

const SINGLES = ALPHABET.length - 2;

/** FNV-1a with 32 bits. */
export const digest = (bytes) =>
  bytes.reduce((hash, byte) => Math.imul(hash ^ byte, 0x1000193), 0x811c9dc5) >>> 0;

/** The text: which values are one character, 4 bits in each character, then the bytes. */
export function textOf(bytes) {
  const count = new Array(256).fill(0);
  for (const byte of bytes) count[byte]++;
  const single = new Set([...count.keys()].sort((a, b) => count[b] - count[a] || a - b).slice(0, SINGLES));
  const code = [];
  let one = 0;
  let two = 0;
  for (let value = 0; value < 256; value++) {
    if (single.has(value)) code[value] = ALPHABET[one++];
    else code[value] = ALPHABET[SINGLES + Math.floor(two / SINGLES)] + ALPHABET[two++ % SINGLES];
  }
  let head = '';
  for (let value = 0; value < 256; value += 4) {
    head += ALPHABET[[0, 1, 2, 3].reduce((bits, i) => bits | (Number(single.has(value + i)) << i), 0)];
  }
  return head + Array.from(bytes, (byte) => code[byte]).join('');
}
