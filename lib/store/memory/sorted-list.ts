/** Length of the unused front of a list from which it may be cut off. */
const unusedMin = 1_024;

/**
 * Values in the order of `compare`, at most one of each rank. Appending, which is what a history does, costs one
 * comparison; removing from the front, which is where the due index is read, a binary search; any other change a binary
 * search and a move of the values on the shorter or the later side. A value is found by its rank, which may be less than
 * the value.
 */
export class SortedList<T extends Rank, Rank = T> {
  readonly #compare: (a: Rank, b: Rank) => number;
  /** The values, behind places whose values were removed. */
  #values: (T | undefined)[] = [];
  #from = 0;

  constructor(compare: (a: Rank, b: Rank) => number) {
    this.#compare = compare;
  }

  get length(): number {
    return this.#values.length - this.#from;
  }

  at(index: number): T | undefined {
    return index < 0 ? undefined : this.#values[this.#from + index];
  }

  /** Returns the index of the first value that `matches`, which must be false up to some index and true from there. */
  firstIndex(matches: (value: T) => boolean): number {
    let low = this.#from;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (matches(this.#values[middle] as T)) high = middle;
      else low = middle + 1;
    }
    return low - this.#from;
  }

  /** Adds `value`, replacing the one of the same rank, if there is one. */
  set(value: T): void {
    const last = this.at(this.length - 1);
    if (last === undefined || this.#compare(last, value) < 0) {
      this.#values.push(value);
      return;
    }
    const index = this.firstIndex((other) => this.#compare(other, value) >= 0);
    const replaced = this.#compare(this.at(index) as T, value) === 0 ? 1 : 0;
    this.#values.splice(this.#from + index, replaced, value);
  }

  /** Removes the value of this rank, if there is one. */
  delete(rank: Rank): void {
    const index = this.firstIndex((other) => this.#compare(other, rank) >= 0);
    const found = this.at(index);
    if (found === undefined || this.#compare(found, rank) !== 0) return;
    const values = this.#values;
    if (index >= this.length / 2) {
      values.splice(this.#from + index, 1);
      return;
    }
    for (let at = this.#from + index; at > this.#from; at--) values[at] = values[at - 1];
    values[this.#from++] = undefined;
    if (this.#from < unusedMin || this.#from < this.length) return;
    this.#values = values.slice(this.#from);
    this.#from = 0;
  }

  slice(start: number, end: number): T[] {
    return this.#values.slice(this.#from + start, this.#from + end) as T[];
  }
}
