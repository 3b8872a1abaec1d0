import type { RunId } from '../base/ids.js';
import { dueShardsMin } from '../base/limits.js';
import { fewerShardsThan } from './conditions.js';
import type { IndexPage, IndexQuery, Item, Key, Table, TransactResult, Write, WriteResult } from './table.js';

/** Returns the partition of a run's markers, given their number. The id is random, so its first digits are a hash. */
export const dueShardOf = (runId: RunId, dueShards: number): number =>
  Number.parseInt(runId.slice(0, 4), 16) % dueShards;

/** Next to the states of the servers: what the table remembers of all processes that have ever written to it. */
const rememberedKey: Key = { pk: 'due', sk: 'a' };

/**
 * Spreads markers over the partitions of the due index, by the hash of the run. The number is configured for each
 * process, at least 16, and may differ between processes: during a deployment, after it, and after its rollback.
 *
 * D1  The table remembers the largest number that was ever used, and never returns to a smaller one: a marker stays in
 *     its partition for as long as it is due.
 * D2  A process stores its number before it writes the first marker that the remembered one does not cover.
 * D3  A sweep reads as many partitions as are remembered, or its own number if that is greater.
 *
 * So every sweep that begins after a marker was written reads its partition.
 */
export class ShardedTable implements Table {
  /** Number of partitions over which this process spreads its markers. */
  readonly dueShards: number;
  readonly #table: Table;
  /** The table remembers this number or, by now, a greater one. */
  #remembered = dueShardsMin;

  constructor(table: Table, dueShards: number) {
    this.#table = table;
    this.dueShards = dueShards;
  }

  /** Returns the number of partitions in which markers may be. Strongly consistent. */
  async readDueShards(): Promise<number> {
    return Math.max(await this.#readRemembered(), this.dueShards);
  }

  async write(write: Write): Promise<WriteResult> {
    const placed = this.#place(write);
    await this.#announce([placed]);
    return this.#table.write(placed);
  }

  async transact(writes: readonly Write[]): Promise<TransactResult> {
    const placed = writes.map((write) => this.#place(write));
    await this.#announce(placed);
    return this.#table.transact(placed);
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

  /** Returns the write with the partition of its marker in place of the run. */
  #place(write: Write): Write {
    const runId = dueShardIn(write);
    if (runId === undefined) return write;
    const placed = { dueShard: String(dueShardOf(runId, this.dueShards)) };
    return write.kind === 'put'
      ? { ...write, item: { ...write.item, ...placed } }
      : { ...write, set: { ...write.set, ...placed } };
  }

  async #announce(placed: readonly Write[]): Promise<void> {
    const isCovered = placed.every((write) => Number(dueShardIn(write) ?? 0) < this.#remembered);
    if (!isCovered) await this.#remember();
  }

  async #remember(): Promise<void> {
    if ((await this.#readRemembered()) < this.dueShards) {
      // Refused if another process has stored a greater number meanwhile.
      await this.#table.write({
        kind: 'update',
        key: rememberedKey,
        set: { shards: this.dueShards },
        conditions: [fewerShardsThan(this.dueShards)],
      });
    }
    this.#remembered = this.dueShards;
  }

  async #readRemembered(): Promise<number> {
    const item = await this.#table.get(rememberedKey);
    return Number(item?.['shards'] ?? dueShardsMin);
  }
}

function dueShardIn(write: Write): string | undefined {
  const value = write.kind === 'put' ? write.item['dueShard'] : write.set?.['dueShard'];
  return value === undefined ? undefined : String(value);
}
