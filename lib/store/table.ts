// The one table, reduced to what the protocol needs of it: conditional writes, transactions, a consistent partition
// query and two sparse indexes. Conditions are data, written once in conditions.ts; each implementation only obeys them.

export type Scalar = string | number;
export interface Key {
  readonly pk: string;
  readonly sk: string;
}
export type Item = Key & Readonly<Record<string, Scalar | undefined>>;

/** A clause of a condition on the old item. All clauses of a write must hold. Clauses on attributes fail when they are absent, unless they say so. */
export type Condition =
  | { readonly kind: 'itemExists' }
  | { readonly kind: 'itemAbsent' }
  | { readonly kind: 'absent'; readonly attribute: string }
  | { readonly kind: 'present'; readonly attribute: string }
  | { readonly kind: 'equals'; readonly attribute: string; readonly value: Scalar }
  /** Absent, or a number of at most `value`. */
  | { readonly kind: 'absentOrAtMost'; readonly attribute: string; readonly value: number }
  /** Absent, or a number greater than `value`. */
  | { readonly kind: 'absentOrAbove'; readonly attribute: string; readonly value: number };

export interface Put {
  readonly kind: 'put';
  readonly item: Item;
  readonly conditions: readonly Condition[];
}

/** Creates the item when it is absent, unless a condition forbids it. */
export interface Update {
  readonly kind: 'update';
  readonly key: Key;
  readonly set?: Readonly<Record<string, Scalar>>;
  readonly remove?: readonly string[];
  readonly increment?: Readonly<Record<string, number>>;
  readonly conditions: readonly Condition[];
}

export type Write = Put | Update;

export type WriteResult =
  /** `item` as it is now. For a put, the item put. */
  | { readonly ok: true; readonly item: Item }
  /** A condition did not hold; `old` is the item as it was found. */
  | { readonly ok: false; readonly old: Item | undefined };

export type TransactResult =
  | { readonly ok: true }
  /** Per write, in order: `undefined` if its own condition held. */
  | { readonly ok: false; readonly refused: readonly ({ readonly old: Item | undefined } | undefined)[] };

/** The attributes of the key; both are texts. */
export const tableKey = { partition: 'pk', sort: 'sk' } as const;

/** Both indexes are sparse: an item is in one as long as it has both attributes. */
export const tableIndexes = {
  due: {
    partition: 'dueShard',
    sort: 'dueAtMs',
    sortType: 'number',
    projected: ['settledAtMs', 'server', 'stepFailures'],
  },
  list: {
    partition: 'listPartition',
    sort: 'listSort',
    sortType: 'string',
    projected: ['workflow', 'status', 'createdAtMs', 'endedAtMs', 'tags'],
  },
} as const;
export type IndexName = keyof typeof tableIndexes;

export interface IndexQuery {
  readonly index: IndexName;
  readonly partition: string;
  /** Upper bound of the sort attribute, included. */
  readonly until?: Scalar;
  readonly order: 'ascending' | 'descending';
  readonly limit: number;
  /** Opaque, from the page before. */
  readonly cursor?: string;
}
export interface IndexPage {
  readonly items: readonly Item[];
  readonly cursor?: string;
}

/**
 * Throws EngineError `STORE_UNAVAILABLE` when nothing was applied (throttled, refused before the write) and
 * `STORE_RESULT_UNKNOWN` when the fate of a write is not known (timeout, broken connection, 5xx).
 * After a lost acknowledgement an implementation may send the same bytes again, so a true winner can see `ok: false`
 * with its own writer id on the old item; callers look for it.
 */
export interface Table {
  write(write: Write): Promise<WriteResult>;
  /** All or nothing, at most 100 writes, each on another item. */
  transact(writes: readonly Write[]): Promise<TransactResult>;
  /** Strongly consistent. `attributes`: beside the key only those; what else the item holds need not be readable. */
  get(key: Key, attributes?: readonly string[]): Promise<Item | undefined>;
  /**
   * Items of the partition in order of `sk`, each read strongly consistent, but not a snapshot. `after`, which begins with
   * the prefix if there is one: only those behind it, whether an item has this `sk` or not. `attributes` as with `get`.
   */
  queryPartition(pk: string, skPrefix?: string, after?: string, attributes?: readonly string[]): Promise<Item[]>;
  /** Eventually consistent. */
  queryIndex(query: IndexQuery): Promise<IndexPage>;
}
