import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';
import type { DueEntry, RunPosition, RunStatus, RunSummary } from '../../history/records.js';
import { toSummary } from '../items/head.js';
import { inputsPartition, listSortBelow, orphansPartition, tenantPartition } from '../items/indexes.js';
import { toDueEntry, toWaitRow, type WaitRow } from '../items/rows.js';
import type { ShardedTable } from '../sharded-table.js';
import type { IndexQuery, Item } from '../table.js';

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  readonly cursor?: string;
}

/** The indexes, as lists. Their rows are hints, possibly stale. */
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

  /** Lists questions to people, oldest first; of one tenant, if it is given. */
  async inputs(limit: number, cursor?: string, tenant?: string): Promise<ListPage<WaitRow>> {
    return this.#waits(placeOf(inputsPartition, tenant), limit, cursor);
  }

  /** Lists remote tasks that are not waited for and may be running, in the order in which they were left. */
  async orphans(limit: number, cursor?: string): Promise<ListPage<WaitRow>> {
    return this.#waits(placeOf(orphansPartition), limit, cursor);
  }

  /** Lists runs of one status, and one tenant if it is given, newest first, after the run `before`. */
  async runs(
    { status, tenant }: { readonly status: RunStatus; readonly tenant?: string | undefined },
    limit: number,
    before?: RunPosition,
  ): Promise<ListPage<RunSummary>> {
    const until = before === undefined ? undefined : listSortBelow(before);
    const query = { ...placeOf(status, tenant), order: 'descending' } as const;
    return this.#page({ ...query, limit, ...defined({ until }) }, toSummary);
  }

  async #waits(place: Place, limit: number, cursor: string | undefined): Promise<ListPage<WaitRow>> {
    const query = { ...place, order: 'ascending' } as const;
    return this.#page({ ...query, limit, ...defined({ cursor }) }, toWaitRow);
  }

  async #page<Row>(query: IndexQuery, toRow: (item: Item) => Row): Promise<ListPage<Row>> {
    const page = await this.#table.queryIndex(query);
    return { rows: page.items.map(toRow), ...defined({ cursor: page.cursor }) };
  }
}

type Place = Pick<IndexQuery, 'index' | 'partition'>;

/** Returns where a list is: that of all, or that of a tenant. */
function placeOf(partition: string, tenant?: string): Place {
  return tenant === undefined
    ? { index: 'list', partition }
    : { index: 'tenant', partition: tenantPartition(tenant, partition) };
}
