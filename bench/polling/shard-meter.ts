import { dueShardOf } from '../../lib/store/sharded-table.js';
import type {
  IndexPage,
  IndexQuery,
  Item,
  Key,
  Table,
  TransactResult,
  Write,
  WriteResult,
} from '../../lib/store/table.js';

/** Counts the writes of each second that move a marker, by the partition of the due index. */
export class ShardMeter implements Table {
  /** Most writes to one partition in one second. */
  most = 0;
  readonly #table: Table;
  readonly #shards: number;
  readonly #nowMs: () => number;
  #second = 0;
  #counts = new Map<number, number>();

  constructor(table: Table, shards: number, nowMs: () => number) {
    this.#table = table;
    this.#shards = shards;
    this.#nowMs = nowMs;
  }

  async write(write: Write): Promise<WriteResult> {
    this.#count(write);
    return this.#table.write(write);
  }

  async transact(writes: readonly Write[]): Promise<TransactResult> {
    for (const write of writes) this.#count(write);
    return this.#table.transact(writes);
  }

  get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    return this.#table.get(key, attributes);
  }

  queryPartition(pk: string, skPrefix?: string, after?: string, attributes?: readonly string[]): Promise<Item[]> {
    return this.#table.queryPartition(pk, skPrefix, after, attributes);
  }

  queryIndex(query: IndexQuery): Promise<IndexPage> {
    return this.#table.queryIndex(query);
  }

  #count(write: Write): void {
    const { pk } = write.kind === 'put' ? write.item : write.key;
    if (!pk.startsWith('run#')) return;
    const second = Math.floor(this.#nowMs() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#counts = new Map();
    }
    const shard = dueShardOf(pk.slice('run#'.length), this.#shards);
    const count = (this.#counts.get(shard) ?? 0) + 1;
    this.#counts.set(shard, count);
    this.most = Math.max(this.most, count);
  }
}
