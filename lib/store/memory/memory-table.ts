import { formatCursor, type IndexPosition, parseCursor } from '../index-cursor.js';
import { SortedList } from './sorted-list.js';
import {
  type IndexName,
  type IndexPage,
  type IndexQuery,
  type Item,
  type Key,
  type Table,
  tableIndexes,
  type TransactResult,
  type Write,
  type WriteResult,
} from '../table.js';
import {
  checkKey,
  applyWrite,
  checkTransaction,
  checkTransactionBytes,
  compareScalars,
  compareUtf8,
  keyOf,
} from '../write-rules.js';

const indexNames = Object.keys(tableIndexes) as IndexName[];

interface IndexRow extends IndexPosition {
  readonly item: Item;
}

/**
 * The table in the memory of one process, with the answers of DynamoDB. Its indexes are never stale. Each method has
 * done its work before it returns its promise, so nothing comes between two parts of one call.
 */
export class MemoryTable implements Table {
  readonly #partitions = new Map<string, SortedList<Item>>();
  readonly #indexes: Readonly<Record<IndexName, Map<string, SortedList<IndexRow, IndexPosition>>>> = {
    due: new Map(),
    list: new Map(),
    task: new Map(),
    tenant: new Map(),
  };
  readonly #onApplied: (items: readonly Item[]) => void;

  /** `onApplied` receives the new items of each write or transaction, in the order in which they took effect. */
  constructor(options: { readonly onApplied?: (items: readonly Item[]) => void } = {}) {
    this.#onApplied = options.onApplied ?? (() => undefined);
  }

  async write(write: Write): Promise<WriteResult> {
    const old = this.#find(keyOf(write));
    const result = applyWrite(old, write);
    if (result.ok) {
      this.#put(old, result.item);
      this.#onApplied([result.item]);
    }
    return result;
  }

  async transact(writes: readonly Write[]): Promise<TransactResult> {
    checkTransaction(writes);
    const results = writes.map((write) => applyWrite(this.#find(keyOf(write)), write));
    if (!results.every((result) => result.ok)) {
      return { ok: false, refused: results.map((result) => (result.ok ? undefined : { old: result.old })) };
    }
    const items = results.map((result) => result.item);
    checkTransactionBytes(items);
    for (const item of items) this.restore(item);
    this.#onApplied(items);
    return { ok: true };
  }

  async get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    checkKey(key);
    const item = this.#find(key);
    return item === undefined ? undefined : only(item, attributes);
  }

  async queryPartition(pk: string, skPrefix = '', after?: string, attributes?: readonly string[]): Promise<Item[]> {
    const items = this.#partitions.get(pk);
    if (items === undefined) return [];
    const start =
      after === undefined
        ? items.firstIndex((item) => compareUtf8(item.sk, skPrefix) >= 0)
        : items.firstIndex((item) => compareUtf8(item.sk, after) > 0);
    const end = items.firstIndex((item) => compareUtf8(item.sk, skPrefix) >= 0 && !item.sk.startsWith(skPrefix));
    const found = items.slice(start, end);
    return attributes === undefined ? found : found.map((item) => only(item, attributes));
  }

  async queryIndex(query: IndexQuery): Promise<IndexPage> {
    const after = parseCursor(query);
    const rows = this.#indexes[query.index].get(query.partition);
    if (rows === undefined) return { items: [] };
    const { start, end } = rangeOf(rows, query, after);
    const ascending = query.order === 'ascending';
    const page = ascending
      ? rows.slice(start, Math.min(end, start + query.limit))
      : rows.slice(Math.max(start, end - query.limit), end).reverse();
    const items = page.map((row) => row.item);
    const last = page.at(-1);
    if (last === undefined || page.length === end - start) return { items };
    return { items, cursor: formatCursor(query.partition, last) };
  }

  /** Puts an item whose conditions have held before, such as one read from a journal. Does not call `onApplied`. */
  restore(item: Item): void {
    this.#put(this.#find(item), item);
  }

  #put(old: Item | undefined, item: Item): void {
    for (const name of indexNames) this.#reindex(name, old, item);
    let partition = this.#partitions.get(item.pk);
    if (partition === undefined) {
      partition = new SortedList<Item>(compareSortKeys);
      this.#partitions.set(item.pk, partition);
    }
    partition.set(item);
  }

  /** Returns every item, partition by partition. */
  *items(): Generator<Item> {
    for (const partition of this.#partitions.values()) yield* partition.slice(0, partition.length);
  }

  #find(key: Key): Item | undefined {
    const partition = this.#partitions.get(key.pk);
    if (partition === undefined) return undefined;
    const item = partition.at(partition.firstIndex((other) => compareUtf8(other.sk, key.sk) >= 0));
    return item?.sk === key.sk ? item : undefined;
  }

  #reindex(name: IndexName, old: Item | undefined, item: Item): void {
    const before = old === undefined ? undefined : placeIn(name, old);
    if (before !== undefined) {
      const rows = this.#indexes[name].get(before.partition);
      rows?.delete(before);
      if (rows?.length === 0) this.#indexes[name].delete(before.partition);
    }
    const place = placeIn(name, item);
    if (place === undefined) return;
    let rows = this.#indexes[name].get(place.partition);
    if (rows === undefined) {
      rows = new SortedList<IndexRow, IndexPosition>(comparePositions);
      this.#indexes[name].set(place.partition, rows);
    }
    rows.set(rowOf(name, place, item));
  }
}

/** Returns the item with its key and only these of its other attributes. */
function only(item: Item, attributes: readonly string[] | undefined): Item {
  if (attributes === undefined) return item;
  const picked: Record<string, Item[string]> = {};
  for (const name of attributes) if (item[name] !== undefined) picked[name] = item[name];
  return { ...picked, pk: item.pk, sk: item.sk };
}

interface Place extends IndexPosition {
  readonly partition: string;
}

function placeIn(name: IndexName, item: Item): Place | undefined {
  const index = tableIndexes[name];
  const partition = item[index.partition];
  const sort = item[index.sort];
  return typeof partition !== 'string' || sort === undefined
    ? undefined
    : { partition, sort, pk: item.pk, sk: item.sk };
}

function rowOf(name: IndexName, { partition, sort, pk, sk }: Place, item: Item): IndexRow {
  const index = tableIndexes[name];
  const projected: Record<string, Item[string]> = { [index.partition]: partition, [index.sort]: sort };
  for (const attribute of index.projected) {
    if (item[attribute] !== undefined) projected[attribute] = item[attribute];
  }
  return { sort, pk, sk, item: Object.freeze({ ...projected, pk, sk }) };
}

/**
 * Returns the range of the remaining rows: up to `until` and behind the position `after`, in the order of the query.
 */
function rangeOf(
  rows: SortedList<IndexRow, IndexPosition>,
  query: IndexQuery,
  after: IndexPosition | undefined,
): { start: number; end: number } {
  const { until } = query;
  const bound = until === undefined ? rows.length : rows.firstIndex((row) => compareScalars(row.sort, until) > 0);
  if (after === undefined) return { start: 0, end: bound };
  return query.order === 'ascending'
    ? { start: rows.firstIndex((row) => comparePositions(row, after) > 0), end: bound }
    : {
        start: 0,
        end: Math.min(
          bound,
          rows.firstIndex((row) => comparePositions(row, after) >= 0),
        ),
      };
}

function compareSortKeys(a: Item, b: Item): number {
  return compareUtf8(a.sk, b.sk);
}

function comparePositions(a: IndexPosition, b: IndexPosition): number {
  return compareScalars(a.sort, b.sort) || compareUtf8(a.pk, b.pk) || compareUtf8(a.sk, b.sk);
}
