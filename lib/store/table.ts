// The only table, reduced to what the protocol needs of it: conditional writes, transactions, a consistent partition
// query and four sparse indexes. Conditions are data, written once in conditions.ts; each implementation only evaluates
// them.

export type Scalar = string | number;
export interface Key {
  readonly pk: string;
  readonly sk: string;
}
export type Item = Key & Readonly<Record<string, Scalar | undefined>>;

/**
 * A clause of a condition on the old item. All clauses of a write must hold. Clauses on absent attributes fail, unless
 * they say otherwise.
 */
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

/** Creates the item if it is absent, unless a condition forbids it. */
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
  /** `item` is the current item. For a put, the item put. */
  | { readonly ok: true; readonly item: Item }
  /** A condition did not hold; `old` is the item as it was found. */
  | { readonly ok: false; readonly old: Item | undefined };

export type TransactResult =
  | { readonly ok: true }
  /** Per write, in order: `undefined` if its own condition held. */
  | { readonly ok: false; readonly refused: readonly ({ readonly old: Item | undefined } | undefined)[] };

/** Attributes of the key; both are texts. */
export const tableKey = { partition: 'pk', sort: 'sk' } as const;

/**
 * The indexes are sparse: an item is in an index as long as it has both attributes. `task` lists the
 * served tasks of a caller by the time of their status, `tenant` what belongs to a tenant.
 */
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
  task: {
    partition: 'taskPartition',
    sort: 'taskSort',
    sortType: 'string',
    projected: ['workflow', 'taskState', 'taskStatusAtMs', 'taskContext'],
  },
  tenant: {
    partition: 'tenantPartition',
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
  /** Opaque, from the previous page. */
  readonly cursor?: string;
}
export interface IndexPage {
  readonly items: readonly Item[];
  readonly cursor?: string;
}

/**
 * Throws EngineError `STORE_UNAVAILABLE` if nothing was applied (throttled, refused before the write) and
 * `STORE_RESULT_UNKNOWN` if the fate of a write is unknown (timeout, broken connection, 5xx). After a lost
 * acknowledgement an implementation may send the same bytes again, so a true winner can see `ok: false` with its own
 * writer id on the old item; callers look for it.
 */
export interface Table {
  write(write: Write): Promise<WriteResult>;
  /** All or nothing, at most 100 writes, each on another item. */
  transact(writes: readonly Write[]): Promise<TransactResult>;
  /**
   * Strongly consistent. `attributes`: only these besides the key; whatever else the item holds need not be readable.
   */
  get(key: Key, attributes?: readonly string[]): Promise<Item | undefined>;
  /**
   * Returns the items of the partition in order of `sk`, each read strongly consistent, but not as a snapshot. `after`,
   * which begins with the prefix if there is one: only items behind it, whether or not an item has this `sk`.
   * `attributes` as with `get`.
   */
  queryPartition(pk: string, skPrefix?: string, after?: string, attributes?: readonly string[]): Promise<Item[]>;
  /** Eventually consistent. */
  queryIndex(query: IndexQuery): Promise<IndexPage>;
}
