import { binary, bytesOf, characterAt, decode, encode, hex, quoteAll } from './bytes.js';
import { BOOL, LIST, MAP, MAX_BYTES, MAX_DEPTH, Node, NULL, NUMBER, TEXT } from './node.js';

/** Why a source cannot be read at all, and where: an offset, undefined for the whole. */
export class SyntaxProblem {
  constructor(
    readonly at: number | undefined,
    readonly found: string,
    readonly allowed: string,
  ) {}
}

function fail(at: number | undefined, found: string, allowed: string): never {
  throw new SyntaxProblem(at, found, allowed);
}

const MARK = '\xef\xbb\xbf';
const END = 'the end of the document';

/** What no text may have: control characters, halves of surrogate pairs. */
const FORBIDDEN = /[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
export const HALF = ['half of a surrogate pair', 'a whole pair, a high half first'] as const;
export const NUL = ['the character U+0000', 'text without it'] as const;
export const TOO_DEEP = [
  `a value inside ${MAX_DEPTH} others`,
  `at most ${MAX_DEPTH} lists and maps in one another`,
] as const;
/** The greatest size, as errors say it. */
export const AT_MOST = `at most ${MAX_BYTES} bytes (1 MiB)`;

/** A source of JSON: a text, or its bytes. */
export type Source = string | Uint8Array;

/** The bytes of a source. */
export const bytesOfSource = (source: Source): string =>
  typeof source === 'string' ? bytesOf(source) : binary(source);

/** Throws where a source is too large, or is not text. */
export function checkSource(source: Source): void {
  const { length } = typeof source === 'string' ? encode(source) : source;
  if (length > MAX_BYTES) fail(undefined, `${length} bytes`, AT_MOST);
  const text = typeof source === 'string' ? source : decode(source);
  const bad = text.search(FORBIDDEN);
  const before = bad < 0 ? text : text.slice(0, bad);
  if (typeof source !== 'string') checkEncoding(before, source);
  if (bad < 0) return;
  const at = encode(before).length;
  const code = text.charCodeAt(bad);
  if (code >= 0xd800 && code < 0xe000) fail(at, ...HALF);
  fail(
    at,
    `the character U+${hex(code, 4).toUpperCase()}`,
    'text without control characters but tab, line feed and carriage return',
  );
}

/** Finds bytes that are not UTF-8: the text has a replacement for them. */
function checkEncoding(text: string, source: Uint8Array): void {
  let at = 0;
  for (const character of text) {
    if (character === '\ufffd' && ![0xef, 0xbf, 0xbd].every((byte, i) => source[at + i] === byte)) {
      fail(at, `the byte 0x${hex(source[at] ?? 0, 2).toUpperCase()}`, 'text in UTF-8');
    }
    at += bytesOf(character).length;
  }
}

/**
 * Reads JSON (RFC 8259) strictly: one value and nothing after it, no comments, no commas at the
 * end of a list, no half of a surrogate pair, no NUL. Double keys are kept.
 */
export function readJSON(bytes: string): Node {
  return new JSONReader(bytes).read();
}

class JSONReader {
  private at: number;

  constructor(private readonly bytes: string) {
    this.at = bytes.startsWith(MARK) ? MARK.length : 0;
  }

  read(): Node {
    this.space();
    if (this.done) fail(this.at, 'an empty document', 'a policy document');
    const root = new Node();
    this.value(root, 0);
    this.space();
    if (!this.done) this.refuse(END);
    return root;
  }

  private get done(): boolean {
    return this.at >= this.bytes.length;
  }

  /** Throws what is at the cursor. */
  private refuse(allowed: string): never {
    fail(this.at, this.done ? END : quoteAll(characterAt(this.bytes, this.at), "'"), allowed);
  }

  /** Moves over what a sticky pattern matches, and returns it. */
  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [taken] = pattern.exec(this.bytes) ?? [''];
    this.at += taken.length;
    return taken;
  }

  private space(): void {
    this.take(/[ \t\n\r]*/y);
  }

  /** Moves over a text if it is at the cursor, and reports whether it is. */
  private skip(text: string): boolean {
    const there = this.bytes.startsWith(text, this.at);
    if (there) this.at += text.length;
    return there;
  }

  /** Reads any value inside `depth` lists and maps into a node. */
  private value(node: Node, depth: number): void {
    const { at, bytes } = this;
    node.at = at;
    const first = bytes[at] ?? '';
    if (first === '{' || first === '[') {
      if (depth === MAX_DEPTH) fail(at, ...TOO_DEEP);
      this.at++;
      node.kind = first === '{' ? MAP : LIST;
      this.items(node, first === '{' ? '}' : ']', depth + 1);
    } else if (first === '"') {
      node.kind = TEXT;
      node.text = this.string();
    } else if (/[-\d]/.test(first)) {
      node.kind = NUMBER;
      this.number();
      node.text = bytes.slice(at, this.at);
    } else if (this.skip('null')) {
      node.kind = NULL;
    } else if (this.skip('true') || this.skip('false')) {
      node.kind = BOOL;
      node.text = bytes.slice(at, this.at);
    } else {
      this.refuse('a JSON value');
    }
  }

  /** Reads the content of a list or a map, up to the closing bracket. */
  private items(node: Node, end: string, depth: number): void {
    this.space();
    if (this.skip(end)) return;
    do {
      this.space();
      const item = node.add();
      if (node.kind === MAP) this.key(item);
      this.value(item, depth);
      this.space();
      if (this.skip(end)) return;
    } while (this.skip(','));
    this.refuse(`',' or '${end}'`);
  }

  /** Reads the key of an entry and the colon behind it. */
  private key(entry: Node): void {
    entry.keyAt = this.at;
    if (this.bytes[this.at] !== '"') this.refuse('a name in double quotes');
    entry.key = this.string();
    this.space();
    if (!this.skip(':')) this.refuse("':'");
    this.space();
  }

  private number(): void {
    this.skip('-');
    if (!this.skip('0')) this.digits();
    if (this.skip('.')) this.digits();
    if (this.take(/e[+-]?/iy)) this.digits();
  }

  private digits(): void {
    if (!this.take(/\d+/y)) this.refuse('a digit');
  }

  /** Reads a string, its quotes included. */
  private string(): string {
    this.at++;
    let text = '';
    for (;;) {
      text += this.take(/[^"\\\t\n\r]*/y);
      if (this.done) fail(this.at, END, "'\"' at the end of the string");
      if (this.skip('"')) return text;
      if (this.bytes[this.at] !== '\\') {
        const code = hex(this.bytes.charCodeAt(this.at), 4).toUpperCase();
        fail(this.at, `the character U+${code} in a string`, 'an escape such as \\n or \\t');
      }
      text += this.escape();
    }
  }

  /** Reads one escape, a surrogate pair as one. */
  private escape(): string {
    const { at } = this;
    this.at++;
    const short = this.take(/["\\/bfnrt]/y);
    if (short) return '"\\/\b\f\n\r\t'['"\\/bfnrt'.indexOf(short)] as string;
    if (!this.skip('u')) {
      this.refuse('an escape: \\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u with four hexadecimal digits');
    }
    let text = this.unit();
    if (/[\ud800-\udbff]/.test(text) && this.skip('\\u')) text += this.unit();
    if (text === '\0') fail(at, ...NUL);
    if (/[\ud800-\udfff]/u.test(text)) fail(at, ...HALF);
    return bytesOf(text);
  }

  /** Reads the hexadecimal digits of an escape. */
  private unit(): string {
    const { at } = this;
    const digits = this.take(/[\da-f]{4}/iy);
    if (!digits) {
      fail(
        at,
        `the escape \\u${quoteAll(this.bytes.slice(at, at + 4), '"')}`,
        'four hexadecimal digits behind \\u',
      );
    }
    return String.fromCharCode(Number.parseInt(digits, 16));
  }
}

/** Finds lines and columns, both from 1; a column is a character. It is quickest in the order of the text. */
export class Places {
  private at = 0;
  private line = 1;
  private column = 1;
  private bytes: string | undefined;

  constructor(private readonly source: Source) {}

  of(at: number): readonly [line: number, column: number] {
    if (at < this.at) {
      this.at = 0;
      this.line = this.column = 1;
    }
    this.bytes ??= bytesOfSource(this.source);
    const { bytes } = this;
    if (this.at === 0 && bytes.startsWith(MARK)) this.at = MARK.length;
    for (; this.at < at; this.at++) {
      const code = bytes.charCodeAt(this.at);
      if (code === 10 || (code === 13 && bytes.charCodeAt(this.at + 1) !== 10)) {
        this.line++;
        this.column = 1;
      } else if (code !== 13 && (code & 0xc0) !== 0x80) {
        this.column++;
      }
    }
    return [this.line, this.column];
  }
}
