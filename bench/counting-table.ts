import { EngineError } from '../lib/base/errors.js';
import { utf8Bytes } from '../lib/base/json.js';
import type {
  IndexPage,
  IndexQuery,
  Item,
  Key,
  Table,
  TransactResult,
  Write,
  WriteResult,
} from '../lib/store/table.js';

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
  /** The items of each request. */
  #read: (readonly Item[])[] = [];

  constructor(table: Table) {
    this.#table = table;
  }

  /** What was read since the last call. */
  take(): Reading {
    const read = this.#read;
    this.#read = [];
    // Here, where it costs nobody's time.
    const bytes = read.flat().reduce((sum, item) => sum + utf8Bytes(JSON.stringify(item)), 0);
    return { reads: read.length, items: read.reduce((sum, items) => sum + items.length, 0), bytes };
  }

  async write(write: Write): Promise<WriteResult> {
    this.#countWrite();
    return this.#table.write(write);
  }

  async transact(writes: readonly Write[]): Promise<TransactResult> {
    this.#countWrite();
    return this.#table.transact(writes);
  }

  async get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    const item = await this.#table.get(key, attributes);
    this.#read.push(item === undefined ? [] : [item]);
    return item;
  }

  async queryPartition(pk: string, skPrefix?: string, after?: string, attributes?: readonly string[]): Promise<Item[]> {
    const items = await this.#table.queryPartition(pk, skPrefix, after, attributes);
    this.#read.push(items);
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
}
