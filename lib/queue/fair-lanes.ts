/** Entries that are ready, by group: the next one is the oldest of the group that has the fewest in flight. */
export class FairLanes<Entry extends object> {
  readonly #ready = new Map<string, { readonly entries: Entry[]; from: number }>();
  readonly #inFlight = new Map<string, number>();
  readonly #groupOf = new Map<Entry, string>();

  /** Adds an entry at the end of its group; it is not in flight any more. */
  add(group = '', entry: Entry): void {
    this.leave(entry);
    const lane = this.#ready.get(group) ?? { entries: [], from: 0 };
    this.#ready.set(group, lane);
    lane.entries.push(entry);
  }

  /** Removes and returns the next entry. */
  next(): Entry | undefined {
    const group = this.#nextGroup();
    const lane = group === undefined ? undefined : this.#ready.get(group);
    if (group === undefined || lane === undefined) return undefined;
    const entry = lane.entries[lane.from];
    lane.from++;
    if (lane.from === lane.entries.length) this.#ready.delete(group);
    else if (lane.from > 1_000) {
      lane.entries.splice(0, lane.from);
      lane.from = 0;
    }
    return entry;
  }

  peek(): Entry | undefined {
    const lane = this.#ready.get(this.#nextGroup() ?? '');
    return lane?.entries[lane.from];
  }

  /** Counts an entry as in flight. */
  enter(group = '', entry: Entry): void {
    this.#groupOf.set(entry, group);
    this.#inFlight.set(group, (this.#inFlight.get(group) ?? 0) + 1);
  }

  /** Counts an entry as in flight no longer. */
  leave(entry: Entry): void {
    const group = this.#groupOf.get(entry);
    if (group === undefined) return;
    this.#groupOf.delete(entry);
    const left = (this.#inFlight.get(group) ?? 1) - 1;
    if (left === 0) this.#inFlight.delete(group);
    else this.#inFlight.set(group, left);
  }

  #nextGroup(): string | undefined {
    let best: string | undefined;
    let fewest = Infinity;
    for (const group of this.#ready.keys()) {
      // Messages of no group wait for none.
      const count = group === '' ? -1 : (this.#inFlight.get(group) ?? 0);
      if (count < fewest) [best, fewest] = [group, count];
    }
    return best;
  }
}
