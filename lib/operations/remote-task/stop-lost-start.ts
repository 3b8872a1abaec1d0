import { startTakeMs, sweepIntervalMs } from '../../base/limits.js';
import { longestCallUntilMs } from '../../decide/worker-start.js';
import type { EpochMs } from '../../base/time.js';
import type { StartMessage } from '../../queue/queue.js';
import type { TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { findLostStart, lostStartOf, orUnknown, type LostStart } from './find-lost-start.js';
import type { MadeStart } from './start-attempt.js';
import { persistWithin, type Persist } from '../persist.js';
import type { TurnLimits } from '../turn-limits.js';
import { wakeRunFor } from '../wake.js';
import { whenAdmitted } from '../admission.js';

/**
 * Repeats the start of a closed wait to find the task that it may have left, and waits for the answer as long as a
 * start may take. The handle is left for a turn, which cancels the task; if there is no task, the marker is cleared.
 *
 * The claim is one conditional write on the due instant that was read. Until it ends no turn looks, and afterwards the
 * sweep brings the run back, so a worker that dies only costs time: the same key names the same task.
 */
export async function stopLostStart(
  deps: Deps,
  { runId, waitId, dueAtMs }: StartMessage,
  limits: TurnLimits,
): Promise<MadeStart> {
  const token = await deps.store.tokens.read(runId, waitId);
  if (token?.settlement === undefined || token.handle !== undefined || token.dueAtMs !== dueAtMs) return 'stale';
  const { server } = token;
  if (server === undefined || !Object.hasOwn(deps.app.servers, server)) return 'stale';
  const lost = await orUnknown(deps, token, () => lostStartOf(deps, token, server));
  if (typeof lost !== 'object' || !lost.mayRepeat) return 'stale';

  const nowMs = deps.clock.nowMs();
  const callUntilMs = longestCallUntilMs(nowMs, limits.remainingMs());
  if (callUntilMs <= nowMs) return 'put off';
  const look = { lost, seenDueAtMs: dueAtMs, callUntilMs, persist: persistWithin(deps, limits) };
  const call = { server, purpose: 'longStart', untilMs: callUntilMs } as const;
  const tried = await whenAdmitted(deps, call, () => lookUnderClaim(deps, token, look));
  if (tried.kind === 'done') return tried.result;
  await deps.store.unwantedTasks.claimLook(runId, waitId, { seenDueAtMs: dueAtMs, untilMs: tried.untilMs });
  return 'put off';
}

interface Look {
  readonly lost: LostStart;
  readonly seenDueAtMs: EpochMs;
  readonly callUntilMs: EpochMs;
  readonly persist: Persist;
}

async function lookUnderClaim(
  deps: Deps,
  token: TokenRecord,
  { lost, seenDueAtMs, callUntilMs, persist }: Look,
): Promise<MadeStart> {
  const { runId, waitId } = token;
  const claimedUntilMs = callUntilMs + startTakeMs;
  if (!(await deps.store.unwantedTasks.claimLook(runId, waitId, { seenDueAtMs, untilMs: claimedUntilMs })))
    return 'stale';
  const found = await orUnknown(deps, token, () => findLostStart(deps, token, lost, { persist, untilMs: callUntilMs }));
  if (found === 'unknown' || found === 'not found') {
    const untilMs = deps.clock.nowMs() + sweepIntervalMs;
    await persist(() => deps.store.unwantedTasks.claimLook(runId, waitId, { seenDueAtMs: claimedUntilMs, untilMs }));
    return 'put off';
  }
  const claimed = { dueAtMs: claimedUntilMs, hasHandle: false };
  if (found === 'none') await persist(() => deps.store.tokens.clearMarker(runId, waitId, claimed));
  await wakeRunFor(deps, runId, { waitId });
  return found === 'none' ? 'done' : 'told';
}
