import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import { blockedRetryAtMs } from '../../decide/deadline.js';
import { runBlocked } from '../../history/lifecycle-event.js';
import type { RunHead } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { dueSince, isToldOf, tryToPublish, type Outbox } from './outbox.js';

interface Block {
  /** The last known commit. */
  readonly seq: number;
  readonly error: StoredError;
  readonly outbox?: Outbox | undefined;
}

/**
 * Records on the head why the run cannot go on, and sets its marker to a later look, less and less often. Returns false
 * if the marker of a newer commit stays. Pending lifecycle events are published first, then that the run is blocked,
 * once per block; what the bus does not take is retried with the next sweep.
 */
export async function blockRun(deps: Deps, head: RunHead, { seq, error, outbox }: Block): Promise<boolean> {
  const { runId, workflow, blocked } = head;
  const nowMs = deps.clock.nowMs();
  const since = blocked?.details?.['sinceMs'];
  const sinceMs = typeof since === 'number' ? since : nowMs;
  deps.log.error('run blocked', { runId, workflow, code: error.code, reason: error.message });
  deps.metrics?.put('BlockedRuns', 1);
  if (blocked === undefined) deps.metrics?.put('NewlyBlockedRuns', 1);
  const isLogPublished = (await outbox?.publish()) ?? true;
  const number = unpublishedBlock(deps, head);
  const isBlockPublished =
    number === undefined ||
    (await tryToPublish(deps, [runBlocked(head, { seq, atMs: sinceMs, number, code: error.code })]));
  return deps.store.headMarkers.block(runId, {
    seq,
    dueAtMs: isLogPublished && isBlockPublished ? blockedRetryAtMs(sinceMs, nowMs, head) : dueSince(head, nowMs),
    publishedSeq: outbox?.publishedSeq,
    listed: { ...head, held: { kind: 'blocked' } },
    blocked: {
      ...error,
      details: { ...error.details, sinceMs, ...defined({ unpublished: isBlockPublished ? undefined : number }) },
    },
  });
}

/** Returns the number of the block that is still to be published: this one, or one that the bus did not take before. */
function unpublishedBlock(deps: Deps, head: RunHead): number | undefined {
  if (!isToldOf(deps, head)) return undefined;
  if (head.blocked === undefined) return head.blocks + 1;
  const number = head.blocked.details?.['unpublished'];
  return typeof number === 'number' ? number : undefined;
}
