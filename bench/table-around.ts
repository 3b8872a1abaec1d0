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

/** A table that passes each request on; those that measure one replace what they need. */
export class TableAround implements Table {
  protected readonly inner: Table;

  constructor(inner: Table) {
    this.inner = inner;
  }

  write(write: Write): Promise<WriteResult> {
    return this.inner.write(write);
  }

  transact(writes: readonly Write[]): Promise<TransactResult> {
    return this.inner.transact(writes);
  }

  get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    return this.inner.get(key, attributes);
  }

  queryPartition(pk: string, skPrefix?: string, after?: string, attributes?: readonly string[]): Promise<Item[]> {
    return this.inner.queryPartition(pk, skPrefix, after, attributes);
  }

  queryIndex(query: IndexQuery): Promise<IndexPage> {
    return this.inner.queryIndex(query);
  }
}
