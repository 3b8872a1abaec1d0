import { isUnreadable } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { LanePlace, RunHead } from '../history/records.js';
import { chainFrom } from './chain.js';
import type { Deps } from './deps.js';
import { digestOfName } from './digest-of-name.js';

// Lanes: runs of one workflow that have the same concurrency key. At most one of them is under way.
//
// L1  The head of a run and the pointer to the last run of its lane are written in one transaction, if the pointer is
//     as it was read: the runs of a lane are in one order, the order in which they were accepted.
// L2  A run begins only after it has seen that the run before it, with its continuations, has ended, which is final;
//     and if that one ended without having begun, also the one before that, and so on. A run that is gone has ended,
//     also if its id, which may be made of an idempotency key, has become that of a later run.
// L3  A run that waits leaves its id on the head of the run that it waits for, in the transaction that moves its own
//     marker, and only if that one has not ended: then its end finds the id.
// L4  Among its end effects a run marks the run that waits for it as due, and wakes it. Its own markers are cleared
//     afterwards.

/** Returns the key of a lane. Equal concurrency keys of two tenants are different lanes. */
export function laneOf(
  deps: Pick<Deps, 'digest'>,
  workflow: string,
  concurrencyKey: string,
  tenant: string | undefined,
): string {
  return digestOfName(deps, { workflow, tenant }, concurrencyKey);
}

/**
 * Returns the head of the last run up to `runId` in its lane that has not ended, or of its last continuation; undefined
 * if all have ended.
 */
export async function lastUnderWay(deps: Deps, runId: RunId): Promise<RunHead | undefined> {
  return underWayBefore(deps, { afterRunId: runId });
}

/** Returns likewise the run that a run in this place is behind. */
export async function underWayBefore(
  deps: Deps,
  place: Pick<LanePlace, 'afterRunId' | 'afterCreatedAtMs'> | undefined,
): Promise<RunHead | undefined> {
  for (let next = place; next?.afterRunId !== undefined;) {
    const { afterRunId, afterCreatedAtMs } = next;
    const first = await deps.store.heads.read(afterRunId);
    if (first === undefined) return undefined;
    if (afterCreatedAtMs !== undefined && afterCreatedAtMs !== first.createdAtMs) return undefined;
    const chain = await chainFrom(deps, first);
    if (chain.isUnderWay) return chain.head;
    // A run that has begun, or that continued, had seen that those before it had ended.
    if (chain.head.runId !== afterRunId || (await hasBegun(deps, chain.head))) return undefined;
    next = chain.head.lane;
  }
  return undefined;
}

async function hasBegun(deps: Deps, { runId, status }: RunHead): Promise<boolean> {
  if (status === 'completed') return true;
  try {
    return await deps.store.lanes.hasBegun(runId);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    // Looking further back is always safe.
    return false;
  }
}
