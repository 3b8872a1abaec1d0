import { dueShardOf } from '../../lib/store/sharded-table.js';
import type { Table, TransactResult, Write, WriteResult } from '../../lib/store/table.js';
import { TableAround } from '../table-around.js';

/** Counts the writes of each second that move a marker, by the partition of the due index. */
export class ShardMeter extends TableAround {
  /** Most writes to one partition in one second. */
  most = 0;
  readonly #shards: number;
  readonly #nowMs: () => number;
  #second = 0;
  #counts = new Map<number, number>();

  constructor(table: Table, shards: number, nowMs: () => number) {
    super(table);
    this.#shards = shards;
    this.#nowMs = nowMs;
  }

  override async write(write: Write): Promise<WriteResult> {
    this.#count(write);
    return super.write(write);
  }

  override async transact(writes: readonly Write[]): Promise<TransactResult> {
    for (const write of writes) this.#count(write);
    return super.transact(writes);
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
