import { cutUtf8 } from '../base/json.js';
import { remoteErrorTextBytes } from '../base/limits.js';
import type { OpenRemoteTask } from '../history/run-state.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { TokenRecord } from '../store/records.js';

/** A worker makes the attempt, or has made it and left what came of it. */
export function isWithWorker({ workerStart, settlement, handle }: TokenRecord, attempt: number): boolean {
  return settlement === undefined && handle === undefined && workerStart?.attempt === attempt;
}

/** The same of the next attempt of a wait, as the log has it. */
export function isNextWithWorker({ look, failedAttempts }: OpenRemoteTask, token: TokenRecord): boolean {
  return look === undefined && isWithWorker(token, failedAttempts + 1);
}

/** What a wait ends with whose deadline passes before its task is known. */
export function startTimedOut(
  wait: Pick<OpenRemoteTask, 'lastError' | 'mayRun' | 'look'>,
  { workerStart }: TokenRecord,
): TokenOutcome {
  const { claim, came, held } = workerStart ?? {};
  const reason = (held ?? wait.lastError)?.message;
  const mayRun = wait.mayRun === true || wait.look !== undefined || (claim !== undefined && came === undefined);
  return {
    kind: 'timed_out',
    phase: 'start',
    ...(reason === undefined ? {} : { reason: cutUtf8(reason, remoteErrorTextBytes) }),
    ...(mayRun ? { mayRun } : {}),
  };
}
