import type { EpochMs } from '../../base/time.js';
import type { RunHead } from '../../history/records.js';
import { fewerLiveThan, fewerRequestsThan, minuteBefore, minuteIs } from '../conditions.js';
import { tenantCountKey } from '../items/keys.js';
import type { Table, Update } from '../table.js';

/**
 * Returns the write that counts the start of a run, as a part of the transaction that puts its head. Refused if `liveMax`
 * runs of the tenant are live. None for a head that is not counted.
 *
 * The head is put once, and its terminal commit is put once; the count changes with either, or not at all. So whatever
 * process dies between two writes, it is the number of counted runs without a terminal commit.
 */
export function countStart({ tenant, counted }: RunHead, liveMax = Infinity): readonly Update[] {
  return counted === true && tenant !== undefined
    ? [
        {
          kind: 'update',
          key: tenantCountKey(tenant, 'live'),
          increment: { live: 1 },
          conditions: Number.isFinite(liveMax) ? [fewerLiveThan(liveMax)] : [],
        },
      ]
    : [];
}

/** Returns the write that ends the count of a run, as a part of the transaction with its terminal commit. */
export function countEnd({ tenant, counted }: Pick<RunHead, 'tenant' | 'counted'>): readonly Update[] {
  return counted === true && tenant !== undefined
    ? [{ kind: 'update', key: tenantCountKey(tenant, 'live'), increment: { live: -1 }, conditions: [] }]
    : [];
}

/** What tenants ask for in a minute, where a limit is configured. */
export class TenantCounts {
  readonly #table: Table;
  /** Minutes of which nothing is left, as far as this process has seen: refusing costs no write then. */
  readonly #fullMinutes = new Map<string, number>();

  constructor(table: Table) {
    this.#table = table;
  }

  /** Takes one of the requests of this minute. Returns false if none is left. */
  async takePermit(
    tenant: string,
    of: 'starts' | 'signals',
    { atMs, perMinute }: { readonly atMs: EpochMs; readonly perMinute: number },
  ): Promise<boolean> {
    const minute = Math.floor(atMs / 60_000);
    const key = tenantCountKey(tenant, of);
    if (this.#fullMinutes.get(key.pk + of) === minute) return false;
    const counted = await this.#table.write({
      kind: 'update',
      key,
      increment: { requests: 1 },
      conditions: [minuteIs(minute), fewerRequestsThan(perMinute)],
    });
    if (counted.ok) return true;
    if (counted.old?.['minute'] !== minute) {
      const set = { minute, requests: 1 };
      const first = await this.#table.write({ kind: 'update', key, set, conditions: [minuteBefore(minute)] });
      if (first.ok) return true;
      // Another process has begun the minute between the two writes, and there may be room in it.
      if (first.old?.['minute'] === minute) return this.takePermit(tenant, of, { atMs, perMinute });
    }
    this.#fullMinutes.set(key.pk + of, minute);
    return false;
  }
}
