/**
 * Values in the order of `compare`, at most one of each rank. Appending, which is what a history does, costs one
 * comparison; any other insertion a binary search and a move of what follows.
 */
export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number;
  readonly #values: T[] = [];

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get length(): number {
    return this.#values.length;
  }

  at(index: number): T | undefined {
    return index < 0 ? undefined : this.#values[index];
  }

  /** Returns the index of the first value that `matches`, which must be false up to some index and true from there. */
  firstIndex(matches: (value: T) => boolean): number {
    let low = 0;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (matches(this.#values[middle] as T)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Adds `value`, replacing the one of the same rank, if there is one. */
  set(value: T): void {
    const last = this.#values.at(-1);
    if (last === undefined || this.#compare(last, value) < 0) {
      this.#values.push(value);
      return;
    }
    const index = this.firstIndex((other) => this.#compare(other, value) >= 0);
    const replaced = this.#compare(this.#values[index] as T, value) === 0 ? 1 : 0;
    this.#values.splice(index, replaced, value);
  }

  delete(value: T): void {
    const index = this.firstIndex((other) => this.#compare(other, value) >= 0);
    const found = this.#values[index];
    if (found !== undefined && this.#compare(found, value) === 0) this.#values.splice(index, 1);
  }

  slice(start: number, end: number): T[] {
    return this.#values.slice(start, end);
  }
}
