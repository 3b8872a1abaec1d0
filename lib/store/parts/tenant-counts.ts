import type { RunHead } from '../../history/records.js';
import { fewerLiveThan, fewerOfTasksThan } from '../conditions.js';
import { servedCountKey, tenantCountKey } from '../items/keys.js';
import type { Key, TransactResult, Update } from '../table.js';

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
 * runs of the tenant are live, or a counter of `caps` has reached its cap. None for a head that is not counted.
 *
 * The head is put once, and its terminal commit is put once; the count changes with either, or not at all. So whatever
 * process dies between two writes, it is the number of counted runs without a terminal commit.
 */
export function countStart(head: RunHead, liveMax = Infinity, caps: readonly Cap[] = []): readonly Update[] {
  return [
    ...ofTenant(head).map((key) => counted(key, 1, Number.isFinite(liveMax) ? [fewerLiveThan(liveMax)] : [])),
    ...caps.map(({ counter, of, max }) => counted(servedCountKey(counter, of), 1, [fewerOfTasksThan(of, max)])),
  ];
}

/** Returns the cap that has refused a transaction whose last writes are those of `caps`, if no other write has. */
export function fullCap({ refused }: Refused, caps: readonly Cap[]): Cap | undefined {
  return caps[refused.findIndex((one) => one !== undefined) - (refused.length - caps.length)];
}
type Refused = Extract<TransactResult, { ok: false }>;

/**
 * Returns the writes that end the counts of a run, as a part of the transaction with its terminal commit. They are those
 * that the head names, since the caps may have been changed, and have no condition, since they must not refuse an end.
 */
export function countEnd(head: Pick<RunHead, 'tenant' | 'counted' | 'counters'>): readonly Update[] {
  const ofTasks = head.counters?.map((counter) => servedCountKey(counter, 'live')) ?? [];
  return [...ofTenant(head), ...ofTasks].map((key) => counted(key, -1, []));
}

function ofTenant({ tenant, counted: isCounted }: Pick<RunHead, 'tenant' | 'counted'>): readonly Key[] {
  return isCounted === true && tenant !== undefined ? [tenantCountKey(tenant, 'live')] : [];
}

/** Returns the write of a counter, whose attribute has the name of its sort key. */
function counted(key: Key, by: number, conditions: Update['conditions']): Update {
  return { kind: 'update', key, increment: { [key.sk]: by }, conditions };
}
