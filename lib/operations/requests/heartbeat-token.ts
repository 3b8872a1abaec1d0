import { EngineError } from '../../base/errors.js';
import type { EpochMs } from '../../base/time.js';
import type { Deps } from '../deps.js';
import { isOverdue, timeOut } from '../settle-in-time.js';
import { refusalOf, type Refusal } from '../../decide/refusal.js';
import { wakeRunFor } from '../wake.js';

/** Longest extension of the deadline by one heartbeat. */
export const heartbeatMaxMs = 7 * 24 * 3_600_000;

export type HeartbeatResult =
  { readonly settled: false; readonly deadlineAtMs: EpochMs } | { readonly settled: true; readonly reason: Refusal };

/**
 * Reports that the holder of a token is alive: moves the deadline of the external wait to `extendByMs` from now,
 * earlier or later than before. After its deadline a wait has timed out for good. Not for remote tasks, children and
 * long steps, whose deadlines are the workflow's.
 * @throws EngineError `TOKEN_INVALID`; `INPUT_INVALID` for a wait without a deadline, or an extension out of range
 */
export async function heartbeatToken(
  deps: Deps,
  request: { readonly token: string; readonly extendByMs: number },
): Promise<HeartbeatResult> {
  const { runId, waitId } = deps.tokens.parseSettleToken(request.token);
  const { extendByMs } = request;
  if (!(extendByMs >= 1_000 && extendByMs <= heartbeatMaxMs)) {
    throw new EngineError(
      'INPUT_INVALID',
      `a heartbeat extends by 1 s to ${heartbeatMaxMs / 1000} s, got ${extendByMs / 1000} s`,
    );
  }
  const known = await deps.store.tokens.read(runId, waitId);
  if (known === undefined) throw new EngineError('TOKEN_INVALID', 'no wait is known for this token');
  if (known.settlement !== undefined) return { settled: true, reason: refusalOf(known) };
  if (
    known.server !== undefined ||
    known.child !== undefined ||
    known.step !== undefined ||
    known.deadlineAtMs === undefined
  ) {
    throw new EngineError('INPUT_INVALID', 'this wait has no deadline that a heartbeat could move');
  }
  for (;;) {
    const nowMs = deps.clock.nowMs();
    const deadlineAtMs = nowMs + extendByMs;
    const { moved, token } = await deps.store.tokens.moveDeadline(runId, waitId, { deadlineAtMs, nowMs });
    if (moved) return { settled: false, deadlineAtMs };
    if (token === undefined) throw new EngineError('TOKEN_INVALID', 'no wait is known for this token');
    if (!isOverdue(token, nowMs)) return { settled: true, reason: refusalOf(token) };
    const late = await timeOut(deps, token, nowMs);
    if (late.timedOut) await wakeRunFor(deps, runId, { waitId });
    if (late.token?.settlement !== undefined) return { settled: true, reason: refusalOf(late.token) };
  }
}
