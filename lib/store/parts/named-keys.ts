import type { NamedKey } from '../../history/named-key.js';
import type { EpochMs } from '../../base/time.js';
import { defined } from '../../base/defined.js';
import { itemAbsent, itemExists, keyDigestIs, notUsedSince } from '../conditions.js';
import { keysPartition } from '../items/indexes.js';
import { namedKeyKey } from '../items/keys.js';
import { namedKeyFields, namedKeyItem, namedKeyName, toNamedKey } from '../items/named-key.js';
import type { Table } from '../table.js';

/** Named keys of callers. No name is used twice: what a name has done stays in histories. */
export class NamedKeys {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async read(name: string): Promise<NamedKey | undefined> {
    const item = await this.#table.get(namedKeyKey(name));
    return item === undefined ? undefined : toNamedKey(item);
  }

  /** Returns false if there is, or was, a key of that name. */
  async add(key: NamedKey, writerId: string): Promise<boolean> {
    const result = await this.#table.write({
      kind: 'put',
      item: namedKeyItem(key, writerId),
      conditions: [itemAbsent],
    });
    return result.ok || result.old?.['writerId'] === writerId;
  }

  /** Puts a new digest before the current one, if that is still the one that was read. Returns the current key. */
  async rotate(
    name: string,
    { digest, oldDigest }: { readonly digest: string; readonly oldDigest: string },
  ): Promise<NamedKey | undefined> {
    const result = await this.#table.write({
      kind: 'update',
      key: namedKeyKey(name),
      set: namedKeyFields.write({ digest, oldDigest }),
      conditions: [itemExists, keyDigestIs(oldDigest)],
    });
    const item = result.ok ? result.item : result.old;
    return item === undefined ? undefined : toNamedKey(item);
  }

  /** Removes the digests, or only the older one. Returns the current key. */
  async revoke(name: string, atMs: EpochMs, only?: 'old'): Promise<NamedKey | undefined> {
    const result = await this.#table.write({
      kind: 'update',
      key: namedKeyKey(name),
      ...defined({ set: only === 'old' ? undefined : namedKeyFields.write({ revokedAtMs: atMs }) }),
      remove: only === 'old' ? namedKeyFields.names('oldDigest') : namedKeyFields.names('digest', 'oldDigest'),
      conditions: [itemExists],
    });
    return result.ok ? toNamedKey(result.item) : undefined;
  }

  /** Notes that the key was used on a day, once a day. */
  async noteUse(name: string, day: number): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: namedKeyKey(name),
      set: namedKeyFields.write({ usedDay: day }),
      conditions: [itemExists, notUsedSince(day)],
    });
  }

  /** Lists the names of keys, oldest first. */
  async names(
    limit: number,
    cursor?: string,
  ): Promise<{ readonly names: readonly string[]; readonly cursor?: string }> {
    const query = { index: 'list', partition: keysPartition, order: 'ascending', limit } as const;
    const page = await this.#table.queryIndex({ ...query, ...defined({ cursor }) });
    return { names: page.items.map(namedKeyName), ...defined({ cursor: page.cursor }) };
  }
}
