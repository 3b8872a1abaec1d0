import type { RunHead } from '../../history/records.js';
import { fewerLiveThan } from '../conditions.js';
import { tenantCountKey } from '../items/keys.js';
import type { Update } from '../table.js';

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
