import {
  isEngineError,
  isUnreadable,
  readable,
  storedError,
  type EngineErrorCode,
  type StoredError,
} from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { cutUtf8 } from '../../base/json.js';
import { failureTextBytes } from '../../base/limits.js';
import type { RunGlance } from '../../history/records.js';
import { blockRun } from './block-run.js';
import type { Deps } from '../deps.js';
import { releaseInbox } from './release-markers.js';
import { endStopped } from './end-stopped.js';
import { skipUnreadable } from '../skip-unreadable.js';
import type { TurnLimits } from '../turn-limits.js';

/** Consecutive turns that throw in the same way before the run counts as blocked, and the longest time between them. */
export const failedTurnsMax = 3;
export const failedTurnsWindowMs = 24 * 3_600_000;

/** Failures that lie in the run itself: another delivery of the message would fail the same way. */
const isOfTheRun: ReadonlySet<EngineErrorCode> = new Set([
  'PAYLOAD_TOO_LARGE',
  'PAYLOAD_UNREADABLE',
  'HISTORY_FORMAT_UNKNOWN',
  'INTERNAL',
] as const);

/**
 * Handles an error that a turn has thrown and that did not come from the table. A run that is to stop, by a terminate
 * or its deadline, is ended. Otherwise it counts as blocked: at once if the cause is in what is stored, else after the
 * same failure three times in a row. The count is on the head: failing turns write it, and the next marker of a
 * successful one clears it. Before that the error is rethrown, and the message is delivered again.
 */
export async function failedTurn(deps: Deps, runId: RunId, error: unknown, limits: TurnLimits): Promise<void> {
  if (await isStopped(deps, runId, limits)) return;
  if (isEngineError(error) && isOfTheRun.has(error.code))
    return block(deps, runId, storedError(error.code, error.message), limits);
  const head = await deps.store.heads.glance(runId);
  // A failure after the end is retried for as long as a marker stays.
  if (head === undefined || (head.status !== 'running' && head.status !== 'ending')) throw error;
  const seen = readable(error);
  const thrown = seen instanceof Error ? seen : new Error('a value that is not an Error was thrown');
  const count = await countFailure(deps, head, thrown);
  if (count < failedTurnsMax) throw error;
  deps.log.error('turn failed in the same way again', { runId, count, error: thrown });
  return block(deps, runId, failure(thrown, count), limits);
}

async function isStopped(deps: Deps, runId: RunId, limits: TurnLimits): Promise<boolean> {
  try {
    return await endStopped(deps, runId, limits);
  } catch (error) {
    // The item has a newer format and is for newer code to end.
    if (!isUnreadable(error)) throw error;
    return false;
  }
}

async function countFailure(deps: Deps, { runId, failedTurns: last }: RunGlance, thrown: Error): Promise<number> {
  const cause = deps.digest(placeOf(thrown)).slice(0, 16);
  const atMs = deps.clock.nowMs();
  const isSame = last?.cause === cause && atMs - last.atMs < failedTurnsWindowMs;
  const count = isSame ? last.count + 1 : 1;
  await deps.store.headMarkers.noteFailedTurn(runId, { cause, count, atMs });
  return count;
}

/** Returns where in the code an error was thrown. Its text may differ each time. */
function placeOf({ name, message, stack }: Error): string {
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [name, ...(frames.length === 0 ? [message] : frames.slice(0, 5))].join('\n');
}

function failure({ name, message, stack = '' }: Error, count: number): StoredError {
  return storedError(
    'INTERNAL',
    cutUtf8(`its turn has failed ${count} times in a row in the same way: ${name}: ${message}`, failureTextBytes),
    { stack: cutUtf8(stack, failureTextBytes) },
  );
}

/**
 * Records on the head why the run cannot go on; its marker, which backs off, brings the run back with all that has
 * come. A head that cannot be read itself is skipped: another delivery would not read it either, and the sweep retries.
 */
async function block(deps: Deps, runId: RunId, error: StoredError, limits: TurnLimits): Promise<void> {
  const head = await skipUnreadable(deps, 'run', { runId }, () => deps.store.heads.read(runId));
  if (head === undefined) return;
  if (!(await blockRun(deps, head, { seq: head.dueSeq, error }))) return;
  try {
    await releaseInbox(deps, runId, await deps.store.inbox.readKinds(runId), limits);
  } catch (unreadable) {
    // Markers that this deployment cannot read stay.
    if (!isUnreadable(unreadable)) throw unreadable;
  }
}
