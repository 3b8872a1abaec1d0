import { defined } from '../base/defined.js';
import { cutUtf8 } from '../base/json.js';
import { remoteErrorTextBytes, startPatienceMs, startTakeMs } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { OpenRemoteTask } from '../history/run-state.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { TokenRecord } from '../history/records.js';

/** Returns true if a worker makes the attempt, or has made it and recorded its result. */
export function isWithWorker({ workerStart, settlement, handle }: TokenRecord, attempt: number): boolean {
  return settlement === undefined && handle === undefined && workerStart?.attempt === attempt;
}

/** Returns true if a worker has the next attempt of a wait, as the log counts them. */
export function isNextWithWorker({ look, failedAttempts }: OpenRemoteTask, token: TokenRecord): boolean {
  return look === undefined && isWithWorker(token, failedAttempts + 1);
}

/** Returns the outcome of a wait whose deadline passes before its task is known. */
export function startTimedOut(
  wait: Pick<OpenRemoteTask, 'failedAttempts' | 'lastError' | 'mayRun' | 'look'>,
  { workerStart, attempt }: TokenRecord,
): TokenOutcome {
  const reason = (workerStart?.held ?? wait.lastError)?.message;
  const isMade =
    workerStart?.attempt === attempt
      ? workerStart.claim !== undefined && workerStart.came === undefined
      : attempt > wait.failedAttempts;
  const mayRun = wait.mayRun === true || wait.look !== undefined || isMade;
  return {
    kind: 'timed_out',
    phase: 'start',
    ...defined({
      reason: reason === undefined ? undefined : cutUtf8(reason, remoteErrorTextBytes),
      mayRun: mayRun ? mayRun : undefined,
    }),
  };
}

/**
 * Returns the outcome of a wait whose deadline has passed, from its item alone. A known task still runs on its server.
 */
export function timedOut(token: TokenRecord): TokenOutcome {
  const { workerStart, attempt, handle } = token;
  if (handle !== undefined) return { kind: 'timed_out', taskId: handle.taskId };
  if (workerStart?.attempt !== attempt) return { kind: 'timed_out' };
  return startTimedOut({ failedAttempts: attempt - 1 }, token);
}

/** Returns until when a worker waits for the reply to a start, so that it still has time to record it. */
export function longestCallUntilMs(nowMs: EpochMs, remainingMs: number): EpochMs {
  return nowMs + Math.min(startPatienceMs, remainingMs - startTakeMs);
}
