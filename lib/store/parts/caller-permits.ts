import type { EpochMs } from '../../base/time.js';
import { fewerRequestsThan, minuteBefore, minuteIs } from '../conditions.js';
import { servedCountKey } from '../items/keys.js';
import type { Table } from '../table.js';

/** What this process has of one caller's permits of one minute of its clock. */
interface Lease {
  readonly minute: number;
  left: number;
  used: number;
  /** Permits of all processes, as last seen. */
  leased: number;
}

/** Callers of earlier minutes that are remembered before they are forgotten. */
const leasesMax = 1_000;

/**
 * Permits of callers of served workflows for the messages of a minute. Each permit belongs to a numbered minute, which
 * is opened once, so there are never more of them; those that a process does not use lapse with it. A process leases as
 * many as it has used in the minute, at most half of those that are left, so most messages of a busy caller cost no write.
 */
export class CallerPermits {
  readonly #table: Table;
  readonly #leases = new Map<string, Lease>();

  constructor(table: Table) {
    this.#table = table;
  }

  /** Takes one of the messages that a caller has in this minute. Returns false if none is left. */
  async take(
    caller: string,
    { atMs, perMinute }: { readonly atMs: EpochMs; readonly perMinute: number },
  ): Promise<boolean> {
    const lease = this.#leaseOf(caller, Math.floor(atMs / 60_000));
    if (lease.left > 0) lease.left--;
    else {
      const count = await this.#lease(caller, lease, perMinute);
      if (count === 0) return false;
      // Others of this process may have leased meanwhile.
      lease.left += count - 1;
    }
    lease.used++;
    return true;
  }

  #leaseOf(caller: string, minute: number): Lease {
    const known = this.#leases.get(caller);
    if (known?.minute === minute) return known;
    if (this.#leases.size >= leasesMax) this.#leases.clear();
    const fresh = { minute, left: 0, used: 0, leased: 0 };
    this.#leases.set(caller, fresh);
    return fresh;
  }

  /** Leases permits, and returns how many: none if there are none. */
  async #lease(caller: string, lease: Lease, perMinute: number): Promise<number> {
    const key = servedCountKey(caller, 'messages');
    let { minute } = lease;
    while (lease.leased < perMinute) {
      const count = Math.max(1, Math.min(lease.used, Math.floor((perMinute - lease.leased) / 2)));
      const more = await this.#table.write({
        ...{ kind: 'update', key, increment: { requests: count } },
        conditions: [minuteIs(minute), fewerRequestsThan(perMinute - count + 1)],
      });
      if (more.ok) {
        lease.leased = Number(more.item['requests']);
        return count;
      }
      const begun = Number(more.old?.['minute'] ?? -1);
      if (begun < minute) {
        const set = { minute, requests: count };
        const first = await this.#table.write({ kind: 'update', key, set, conditions: [minuteBefore(minute)] });
        if (first.ok) {
          lease.leased = count;
          return count;
        }
      } else {
        // The clock of another process may be ahead: its minute is the one that has permits.
        minute = begun;
        lease.leased = Number(more.old?.['requests'] ?? 0);
      }
    }
    return 0;
  }
}
