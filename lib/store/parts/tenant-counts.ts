import type { RunHead } from '../../history/records.js';
import { fewerLiveThan, fewerTurnsThan } from '../conditions.js';
import { servedCountKey, tenantCountKey } from '../items/keys.js';
import type { TransactResult, Update } from '../table.js';

/** A counter that the start of a served task increments, and the most that it may count. */
export interface Cap {
  /** Name of the counter. */
  readonly counter: string;
  /** `live`: tasks under way, as long as the head names the counter; `turns`: all that were ever started. */
  readonly of: 'live' | 'turns';
  readonly max: number;
}

/**
 * Returns the writes that count the start of a run, as a part of the transaction that puts its head. Refused if `liveMax`
 * runs of the tenant are live, or one of the counters of `caps` has reached its cap. None for a head that is not counted.
 *
 * The head is put once, and its terminal commit is put once; the count changes with either, or not at all. So whatever
 * process dies between two writes, it is the number of counted runs without a terminal commit.
 */
export function countStart(
  { tenant, counted }: RunHead,
  liveMax = Infinity,
  caps: readonly Cap[] = [],
): readonly Update[] {
  const ofCaps = caps.map(({ counter, of, max }): Update => ({
    kind: 'update',
    key: servedCountKey(counter, of),
    increment: { [of]: 1 },
    conditions: [of === 'live' ? fewerLiveThan(max) : fewerTurnsThan(max)],
  }));
  return counted === true && tenant !== undefined
    ? [
        {
          kind: 'update',
          key: tenantCountKey(tenant, 'live'),
          increment: { live: 1 },
          conditions: Number.isFinite(liveMax) ? [fewerLiveThan(liveMax)] : [],
        },
        ...ofCaps,
      ]
    : ofCaps;
}

/** Returns the cap that has refused a transaction whose last writes are those of `caps`, if no other write has. */
export function fullCap({ refused }: Extract<TransactResult, { ok: false }>, caps: readonly Cap[]): Cap | undefined {
  const first = refused.findIndex((one) => one !== undefined);
  return caps[first - (refused.length - caps.length)];
}

/** Returns the writes that end the counts of a run, as a part of the transaction with its terminal commit. */
export function countEnd({
  tenant,
  counted,
  counters = [],
}: Pick<RunHead, 'tenant' | 'counted' | 'counters'>): readonly Update[] {
  // Named by the head: a deployment may have changed the caps. Without a condition, so that the commit is not refused.
  const ofCaps = counters.map((counter): Update => ({
    kind: 'update',
    key: servedCountKey(counter, 'live'),
    increment: { live: -1 },
    conditions: [],
  }));
  return counted === true && tenant !== undefined
    ? [{ kind: 'update', key: tenantCountKey(tenant, 'live'), increment: { live: -1 }, conditions: [] }, ...ofCaps]
    : ofCaps;
}
