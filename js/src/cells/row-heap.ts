/** Rows with numbers, the row with the least number first. Each row is in it once at most. */
export class RowHeap {
  private readonly rows: number[] = [];
  private readonly numbers: number[] = [];
  /** The place of a row and 1, 0 for a row that is not in the heap. */
  private places = new Int32Array(0);

  get size(): number {
    return this.rows.length;
  }

  /** The row with the least number, undefined where there is none. */
  get first(): number | undefined {
    return this.rows[0];
  }

  /** The least number; infinite where there is none. */
  get least(): number {
    return this.numbers[0] ?? Number.POSITIVE_INFINITY;
  }

  has(row: number): boolean {
    return (this.places[row] ?? 0) > 0;
  }

  /** Gives a row a number. */
  set(row: number, number: number): void {
    if (row >= this.places.length) {
      const { places } = this;
      this.places = new Int32Array(Math.max(2 * places.length, row + 16));
      this.places.set(places);
    }
    this.move(this.has(row) ? (this.places[row] as number) - 1 : this.rows.length, row, number);
  }

  /** Removes a row, if it is there. */
  delete(row: number): void {
    if (!this.has(row)) return;
    const place = (this.places[row] as number) - 1;
    this.places[row] = 0;
    const [last, number] = [this.rows.pop() as number, this.numbers.pop() as number];
    if (last !== row) this.move(place, last, number);
  }

  /** Puts a row where another one was, or above or below that place. */
  private move(from: number, row: number, number: number): void {
    const { numbers } = this;
    let place = from;
    for (let down = 2 * place + 1; down < numbers.length; down = 2 * place + 1) {
      if (down + 1 < numbers.length && (numbers[down + 1] as number) < (numbers[down] as number)) down++;
      if (number <= (numbers[down] as number)) break;
      this.put(place, this.rows[down] as number, numbers[down] as number);
      place = down;
    }
    while (place > 0) {
      const up = (place - 1) >> 1;
      if ((numbers[up] as number) <= number) break;
      this.put(place, this.rows[up] as number, numbers[up] as number);
      place = up;
    }
    this.put(place, row, number);
  }

  private put(place: number, row: number, number: number): void {
    this.rows[place] = row;
    this.numbers[place] = number;
    this.places[row] = place + 1;
  }
}
