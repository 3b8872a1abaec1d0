import type { EpochMs } from '../../base/time.js';
import { fewerRequestsThan, minuteBefore, minuteIs } from '../conditions.js';
import { tenantCountKey } from '../items/keys.js';
import type { Table } from '../table.js';

/** What tenants ask for in a minute, where a limit is configured. */
export class TenantPermits {
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
