import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';
import type { DueEntry, RunPosition, RunStatus, RunSummary } from '../../history/records.js';
import { toSummary } from '../items/head.js';
import { inputsPartition, listSortBelow, orphansPartition } from '../items/indexes.js';
import { toDueEntry, toWaitRow, type WaitRow } from '../items/rows.js';
import type { ShardedTable } from '../sharded-table.js';
import type { IndexQuery, Item } from '../table.js';

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  readonly cursor?: string;
}

/** The two indexes, as lists. Their rows are hints, possibly stale. */
export class Lists {
  readonly #table: ShardedTable;

  constructor(table: ShardedTable) {
    this.#table = table;
  }

  /** Returns the number of partitions of the due index in which any process may have markers: at least `dueShards`. */
  async readDueShards(): Promise<number> {
    return this.#table.readDueShards();
  }

  /** Lists markers that are due by `untilMs` in one shard, earliest first. */
  async due(shard: number, untilMs: EpochMs, limit: number, cursor?: string): Promise<ListPage<DueEntry>> {
    const query = { index: 'due', partition: String(shard), until: untilMs, order: 'ascending' } as const;
    return this.#page({ ...query, limit, ...defined({ cursor }) }, toDueEntry);
  }

  /** Lists questions to people, oldest first. */
  async inputs(limit: number, cursor?: string): Promise<ListPage<WaitRow>> {
    return this.#waits(inputsPartition, limit, cursor);
  }

  /** Lists remote tasks that are not waited for and may be running, in the order in which they were left. */
  async orphans(limit: number, cursor?: string): Promise<ListPage<WaitRow>> {
    return this.#waits(orphansPartition, limit, cursor);
  }

  /** Lists runs of one status, newest first, after the run `before`. */
  async runs(status: RunStatus, limit: number, before?: RunPosition): Promise<ListPage<RunSummary>> {
    const until = before === undefined ? undefined : listSortBelow(before);
    const query = { index: 'list', partition: status, order: 'descending' } as const;
    return this.#page({ ...query, limit, ...defined({ until }) }, toSummary);
  }

  async #waits(partition: string, limit: number, cursor: string | undefined): Promise<ListPage<WaitRow>> {
    const query = { index: 'list', partition, order: 'ascending' } as const;
    return this.#page({ ...query, limit, ...defined({ cursor }) }, toWaitRow);
  }

  async #page<Row>(query: IndexQuery, toRow: (item: Item) => Row): Promise<ListPage<Row>> {
    const page = await this.#table.queryIndex(query);
    return { rows: page.items.map(toRow), ...defined({ cursor: page.cursor }) };
  }
}
