// Texts of documents are strings with one character for each byte of their UTF-8: the
// reader counts, cuts and compares bytes, as the reader in Go does.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Bytes as a string of them. */
export function binary(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** A text as a string of bytes. */
export const bytesOf = (text: string): string =>
  /[^\0-\x7f]/.test(text) ? binary(encoder.encode(text)) : text;

/** The text of a string of bytes. */
export const textOf = (bytes: string): string =>
  /[^\0-\x7f]/.test(bytes) ? decoder.decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))) : bytes;

/** A text as bytes. */
export const encode = (text: string): Uint8Array => encoder.encode(text);

/** The text of bytes; what is not UTF-8 is replaced. */
export const decode = (bytes: Uint8Array): string => decoder.decode(bytes);

/** A character, or a byte that is none by itself. */
const CHARACTER = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|./gs;

/** The character at an offset. */
export function characterAt(bytes: string, at: number): string {
  CHARACTER.lastIndex = at;
  return CHARACTER.exec(bytes)?.[0] ?? '';
}

/** Characters that are invisible, or change the direction of the text around them. */
const HIDDEN =
  /[\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff\ufff0-\ufffb]/;

const SHORT = '\x07\b\t\n\v\f\r';

/** A number in hexadecimal digits. */
export const hex = (n: number, width: number): string => n.toString(16).padStart(width, '0');

/** A text between two marks, with escapes for what cannot be seen. */
export function quoteAll(bytes: string, mark: string): string {
  const quoted = bytes.replace(CHARACTER, (c) => {
    const short = SHORT.indexOf(c);
    const code = c.charCodeAt(0);
    if (short >= 0) return `\\${'abtnvfr'[short]}`;
    if (c === mark || c === '\\') return `\\${c}`;
    if (code < 32 || (c.length === 1 && code > 126)) return `\\x${hex(code, 2)}`;
    const text = textOf(c);
    return HIDDEN.test(text) ? `\\u${hex(text.charCodeAt(0), 4)}` : c;
  });
  return mark + quoted + mark;
}

/** A text that is cut between two characters where it is too long for an error. */
export function shorten(bytes: string): string {
  let cut = 64;
  if (bytes.length <= cut) return bytes;
  while ((bytes.charCodeAt(cut) & 0xc0) === 0x80) cut--;
  return `${bytes.slice(0, cut)}...`;
}

/** A text in quotes, shortened. */
export const quote = (bytes: string): string => quoteAll(shorten(bytes), '"');

/** A text with its ASCII letters in lower case. */
export const lower = (bytes: string): string => bytes.replace(/[A-Z]/g, (c) => c.toLowerCase());
