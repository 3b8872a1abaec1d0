import { dueShardOf } from '../../lib/store/sharded-table.js';
import type { Table, TransactResult, Write, WriteResult } from '../../lib/store/table.js';
import { TableAround } from '../table-around.js';

/** Counts writes, and those of each second by the partition of the due index into which their run has its markers. */
export class ShardMeter extends TableAround {
  /** Most writes to one partition in one second. */
  most = 0;
  writes = 0;
  /** Whether writes are counted. */
  isOn = true;
  readonly #shards: number;
  readonly #nowMs: () => number;
  #second = 0;
  readonly #counts: number[];

  constructor(table: Table, shards: number, nowMs: () => number) {
    super(table);
    this.#shards = shards;
    this.#nowMs = nowMs;
    this.#counts = new Array<number>(shards).fill(0);
  }

  override async write(write: Write): Promise<WriteResult> {
    this.#count([write]);
    return super.write(write);
  }

  override async transact(writes: readonly Write[]): Promise<TransactResult> {
    this.#count(writes);
    return super.transact(writes);
  }

  #count(writes: readonly Write[]): void {
    if (!this.isOn) return;
    this.writes++;
    const second = Math.floor(this.#nowMs() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#counts.fill(0);
    }
    for (const write of writes) {
      const { pk } = write.kind === 'put' ? write.item : write.key;
      if (!pk.startsWith('run#')) continue;
      const shard = dueShardOf(pk.slice('run#'.length), this.#shards);
      const count = (this.#counts[shard] ?? 0) + 1;
      this.#counts[shard] = count;
      this.most = Math.max(this.most, count);
    }
  }
}
