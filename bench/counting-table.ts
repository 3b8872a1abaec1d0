import { EngineError } from '../lib/base/errors.js';
import { utf8Bytes } from '../lib/base/json.js';
import type { Item, Key, TransactResult, Write, WriteResult } from '../lib/store/table.js';
import { TableAround } from './table-around.js';

export interface Reading {
  /** Read requests. */
  readonly reads: number;
  readonly items: number;
  /** Bytes of the items as JSON. */
  readonly bytes: number;
}

/** Counts what the turns of a run read from and write to a table. */
export class CountingTable extends TableAround {
  writes = 0;
  /** Refuses the next write: it is not applied, and its caller receives the refusal. */
  refusesNext = false;
  /** The items that each request read. */
  #read: (readonly Item[])[] = [];

  /** Returns what was read since the last call. */
  take(): Reading {
    const read = this.#read;
    this.#read = [];
    // Measured here, outside of the timed code.
    const bytes = read.flat().reduce((sum, item) => sum + utf8Bytes(JSON.stringify(item)), 0);
    return { reads: read.length, items: read.reduce((sum, items) => sum + items.length, 0), bytes };
  }

  override async write(write: Write): Promise<WriteResult> {
    this.#countWrite();
    return super.write(write);
  }

  override async transact(writes: readonly Write[]): Promise<TransactResult> {
    this.#countWrite();
    return super.transact(writes);
  }

  override async get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    const item = await super.get(key, attributes);
    this.#read.push(item === undefined ? [] : [item]);
    return item;
  }

  override async queryPartition(
    pk: string,
    skPrefix?: string,
    after?: string,
    attributes?: readonly string[],
  ): Promise<Item[]> {
    const items = await super.queryPartition(pk, skPrefix, after, attributes);
    this.#read.push(items);
    return items;
  }

  #countWrite(): void {
    if (this.refusesNext) {
      this.refusesNext = false;
      throw new EngineError('STORE_UNAVAILABLE', 'throttled');
    }
    this.writes += 1;
  }
}
