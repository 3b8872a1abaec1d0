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
  /** Read requests. */
  readonly reads: number;
  readonly items: number;
  /** Bytes of the items as JSON. */
  readonly bytes: number;
}

/** Counts what the turns of a run read from and write to a table. */
export class CountingTable implements Table {
  writes = 0;
  /** Refuses the next write: it is not applied, and its caller receives the refusal. */
  refusesNext = false;
  readonly #table: Table;
  /** The items that each request read. */
  #read: (readonly Item[])[] = [];

  constructor(table: Table) {
    this.#table = table;
  }

  /** Returns what was read since the last call. */
  take(): Reading {
    const read = this.#read;
    this.#read = [];
    // Measured here, outside of the timed code.
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
