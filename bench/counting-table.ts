import { EngineError } from '../lib/base/errors.js';
import { utf8Bytes } from '../lib/base/json.js';
import type { IndexPage, IndexQuery, Item, Key, Table, TransactResult, Write, WriteResult } from '../lib/store/table.js';

export interface Reading {
  /** Requests. */
  readonly reads: number;
  readonly items: number;
  /** Of the items as JSON. */
  readonly bytes: number;
}

/** Counts what a run's turns read of a table, and what they write. */
export class CountingTable implements Table {
  writes = 0;
  /** The next write is not applied, and whoever made it is told so. */
  refusesNext = false;
  readonly #table: Table;
  #reading: Reading = { reads: 0, items: 0, bytes: 0 };

  constructor(table: Table) {
    this.#table = table;
  }

  /** What was read since the last call. */
  take(): Reading {
    const reading = this.#reading;
    this.#reading = { reads: 0, items: 0, bytes: 0 };
    return reading;
  }

  async write(write: Write): Promise<WriteResult> {
    this.#countWrite();
    return this.#table.write(write);
  }

  async transact(writes: readonly Write[]): Promise<TransactResult> {
    this.#countWrite();
    return this.#table.transact(writes);
  }

  async get(key: Key): Promise<Item | undefined> {
    const item = await this.#table.get(key);
    this.#count(item === undefined ? [] : [item]);
    return item;
  }

  async queryPartition(pk: string, skPrefix?: string, after?: string): Promise<Item[]> {
    const items = await this.#table.queryPartition(pk, skPrefix, after);
    this.#count(items);
    return items;
  }

  queryIndex(query: IndexQuery): Promise<IndexPage> {
    return this.#table.queryIndex(query);
  }

  #countWrite(): void {
    if (this.refusesNext) {
      this.refusesNext = false;
      throw new EngineError('STORE_UNAVAILABLE', 'throttled');
    }
    this.writes += 1;
  }

  #count(items: readonly Item[]): void {
    const { reads, items: before, bytes } = this.#reading;
    const more = items.reduce((sum, item) => sum + utf8Bytes(JSON.stringify(item)), 0);
    this.#reading = { reads: reads + 1, items: before + items.length, bytes: bytes + more };
  }
}
