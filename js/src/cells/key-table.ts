import { RowHeap } from './row-heap.js';

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

/** A class of cells is above all ranks of the ones below. */
const RANKS = 2 ** 50;
const HALF_RANK = 2 ** 31;
/** The class of a cell of which a block runs. */
export const BLOCKED = 3;

/** What the table asks when it looks for a key to evict. */
export interface Holder {
  now(): number;
  /** Whether a caller waits at a row. */
  busy(row: number): boolean;
  /** What is lost with a row that is not busy, 0 to `BLOCKED`, and until when it stays so. */
  classOf(row: number, now: number): { class: number; until: number };
}

/**
 * Keys with the handles of their cells, in the order of their last use. When it is full a key gives way as in the
 * module's own table: of those that were not used for longer than half of the others one of the least class, and of
 * these the least recently used. Uses in quick succession count as one.
 */
export class KeyTable {
  /** Rows that were at the oldest end when one was looked for and are not busy, by class and rank. */
  private readonly victims = new RowHeap();
  /** The marks at which their classes may change. */
  private readonly changes = new RowHeap();
  /** The ends of blocks. */
  private readonly blocks = new RowHeap();
  /** Refusals over the rate that could begin no block. */
  unblocked = 0;
  private ranks = 0;
  private listed = 0;
  private readonly rows = new Map<string, number>();
  private readonly keys: string[] = [];
  /** Rows of keys that were removed. */
  private readonly unused: number[] = [];
  private floats = new Float64Array(FIRST * ROW_FLOATS);
  private words = new Int32Array(this.floats.buffer);
  private newest = NO_ROW;
  private oldest = NO_ROW;
  private moves = 0;

  /** A row moves in the order when so many others have moved or come since. `most` keys there are at most. */
  constructor(
    private readonly slack: number,
    private readonly most: number,
    private readonly holder: Holder,
  ) {}

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
    this.hold(row);
    this.blocks.delete(row);
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
    this.blocks.delete(row);
    this.put(key, row);
  }

  /** A key is used. */
  touch(row: number): void {
    const { words } = this;
    const i = row * ROW_WORDS;
    const listed = words[i + NEWER] !== UNLISTED;
    if (listed && ((this.moves - (words[i + MOVED] as number)) | 0) < this.slack) return;
    this.unlist(row);
    this.hold(row);
    this.moves = (this.moves + 1) | 0;
    words[i + MOVED] = this.moves;
    this.link(row, this.newest, NO_ROW);
  }

  /** Takes the row that gives way out of the order, `NO_ROW` where all are busy. */
  take(): number {
    // With the new key, fewer than half of the keys were used after these.
    const safe = ((this.size + 1) >> 1) + this.slack - 1;
    while (this.listed > safe) this.pass();
    const now = this.holder.now();
    while (this.changes.least <= now) this.join(this.changes.first as number);
    while (this.oldest !== NO_ROW && this.victims.least >= BLOCKED * RANKS) this.pass();
    const row = this.victims.first ?? NO_ROW;
    if (row !== NO_ROW) this.hold(row);
    return row;
  }

  /** A row is no longer busy. */
  released(row: number): void {
    if (this.words[row * ROW_WORDS + NEWER] === UNLISTED) this.join(row);
  }

  /** A row is busy, or is taken: it does not give way. */
  hold(row: number): void {
    this.victims.delete(row);
    this.changes.delete(row);
  }

  /** A cell changed without a use of its key. */
  stepped(row: number): void {
    if (this.victims.has(row)) this.join(row);
  }

  /** Whether a refusal may begin a block: half of the keys may have one. */
  mayBlock(): boolean {
    const now = this.holder.now();
    while (this.blocks.least <= now) this.blocks.delete(this.blocks.first as number);
    return this.blocks.size < this.most >> 1;
  }

  /** Asks whether a block of a row runs. */
  noteBlock(row: number): void {
    const { class: found, until } = this.holder.classOf(row, this.holder.now());
    if (found === BLOCKED) this.blocks.set(row, until);
    else this.blocks.delete(row);
  }

  /** Sets the oldest row of the order aside. */
  private pass(): void {
    const row = this.oldest;
    this.unlist(row);
    const rank = ++this.ranks;
    this.words[row * ROW_WORDS + MOVED] = rank % HALF_RANK;
    this.words[row * ROW_WORDS + OLDER] = Math.floor(rank / HALF_RANK);
    if (!this.holder.busy(row)) this.join(row);
  }

  /** Classes a row that was set aside. */
  private join(row: number): void {
    const { words } = this;
    const rank =
      (words[row * ROW_WORDS + MOVED] as number) + HALF_RANK * (words[row * ROW_WORDS + OLDER] as number);
    const now = this.holder.now();
    const { class: found, until } = this.holder.classOf(row, now);
    this.victims.set(row, found * RANKS + rank);
    // A mark in milliseconds may be rounded to the present one.
    if (until < Number.POSITIVE_INFINITY) this.changes.set(row, until > now ? until : now + 1);
    else this.changes.delete(row);
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
    this.listed++;
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
    this.listed--;
    if (newer === NO_ROW) this.newest = older;
    else words[newer * ROW_WORDS + OLDER] = older;
    if (older === NO_ROW) this.oldest = newer;
    else words[older * ROW_WORDS + NEWER] = newer;
    words[row * ROW_WORDS + NEWER] = UNLISTED;
  }
}
