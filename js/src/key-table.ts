// A row of the table has 24 bytes: until when calls of the key are refused, the handle of the cell, and the place in
// the order of use. One row is in one or two lines of the processor's cache; an object a key would be in many.
const ROW_FLOATS = 3;
const ROW_WORDS = 2 * ROW_FLOATS;
const HANDLE = 2;
const MOVED = 3;
const OLDER = 4;
const NEWER = 5;

/** In place of a row: there is none. */
export const NO_ROW = -1;
/** In place of a newer row: the row is not in the order. */
const UNLISTED = -2;

/** How many rows there is memory for at first. */
const FIRST = 16;

/**
 * Keys with the handles of their cells, in the order of their last use, so that the least recently
 * used one is evicted. Uses in quick succession count as one.
 */
export class KeyTable {
  private readonly rows = new Map<string, number>();
  private readonly keys: string[] = [];
  /** Rows of keys that were removed. */
  private readonly unused: number[] = [];
  private floats = new Float64Array(FIRST * ROW_FLOATS);
  private words = new Int32Array(this.floats.buffer);
  private newest = NO_ROW;
  private oldest = NO_ROW;
  private moves = 0;

  /** A row moves in the order when so many others have moved or come since. */
  constructor(private readonly slack: number) {}

  get size(): number {
    return this.rows.size;
  }

  /** The keys with their rows, in the order in which they came. */
  entries(): MapIterator<[key: string, row: number]> {
    return this.rows.entries();
  }

  names(): MapIterator<string> {
    return this.rows.keys();
  }

  /** The row of a key, undefined where there is none. */
  find(key: string): number | undefined {
    return this.rows.get(key);
  }

  keyOf(row: number): string {
    return this.keys[row] as string;
  }

  handleOf(row: number): number {
    return this.words[row * ROW_WORDS + HANDLE] as number;
  }

  /** Until when all calls of the default cost are refused, if nothing but time passes. */
  barredUntil(row: number): number {
    return this.floats[row * ROW_FLOATS] as number;
  }

  /** Stores until when calls are refused. */
  bar(row: number, until = -Infinity): void {
    this.floats[row * ROW_FLOATS] = until;
  }

  /** Adds a key with the handle of its cell. Returns its row. */
  add(key: string, handle: number): number {
    const row = this.unused.pop() ?? this.keys.length;
    if (row * ROW_WORDS >= this.words.length) this.grow();
    this.words[row * ROW_WORDS + HANDLE] = handle;
    this.words[row * ROW_WORDS + NEWER] = UNLISTED;
    this.put(key, row);
    return row;
  }

  /** Removes a key. */
  remove(row: number): void {
    this.unlist(row);
    this.rows.delete(this.keyOf(row));
    this.keys[row] = '';
    this.unused.push(row);
  }

  clear(): void {
    for (const row of [...this.rows.values()]) this.remove(row);
  }

  /** Gives the row of a key to another one. */
  rename(row: number, key: string): void {
    this.rows.delete(this.keyOf(row));
    this.put(key, row);
  }

  /** A key is used. */
  touch(row: number): void {
    const { words } = this;
    const i = row * ROW_WORDS;
    const listed = words[i + NEWER] !== UNLISTED;
    if (listed && ((this.moves - (words[i + MOVED] as number)) | 0) < this.slack) return;
    this.unlist(row);
    this.moves = (this.moves + 1) | 0;
    words[i + MOVED] = this.moves;
    this.link(row, this.newest, NO_ROW);
  }

  /** Takes the least recently used row that is not busy out of the order. */
  take(busy: (row: number) => boolean): number {
    for (let row = this.oldest; row !== NO_ROW; row = this.oldest) {
      // A busy row is added again when it is used or no longer busy.
      this.unlist(row);
      if (!busy(row)) return row;
    }
    return NO_ROW;
  }

  /** A row is no longer busy. One that was skipped is taken next. */
  released(row: number): void {
    const i = row * ROW_WORDS;
    if (this.words[i + NEWER] !== UNLISTED) return;
    this.words[i + MOVED] = this.moves - this.slack;
    this.link(row, NO_ROW, this.oldest);
  }

  private put(key: string, row: number): void {
    this.rows.set(key, row);
    this.keys[row] = key;
    this.bar(row);
    this.touch(row);
  }

  private grow(): void {
    const { words } = this;
    this.floats = new Float64Array(2 * this.floats.length);
    this.words = new Int32Array(this.floats.buffer);
    this.words.set(words);
  }

  private link(row: number, older: number, newer: number): void {
    const { words } = this;
    words[row * ROW_WORDS + OLDER] = older;
    words[row * ROW_WORDS + NEWER] = newer;
    if (older === NO_ROW) this.oldest = row;
    else words[older * ROW_WORDS + NEWER] = row;
    if (newer === NO_ROW) this.newest = row;
    else words[newer * ROW_WORDS + OLDER] = row;
  }

  /** Takes a row out of the order. */
  private unlist(row: number): void {
    const { words } = this;
    const older = words[row * ROW_WORDS + OLDER] as number;
    const newer = words[row * ROW_WORDS + NEWER] as number;
    if (newer === UNLISTED) return;
    if (newer === NO_ROW) this.newest = older;
    else words[newer * ROW_WORDS + OLDER] = older;
    if (older === NO_ROW) this.oldest = newer;
    else words[older * ROW_WORDS + NEWER] = newer;
    words[row * ROW_WORDS + NEWER] = UNLISTED;
  }
}
