import { defined } from '../base/defined.js';
import { cutUtf8 } from '../base/json.js';
import { remoteErrorTextBytes, startPatienceMs, startTakeMs } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { OpenRemoteTask } from '../history/run-state.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { TokenRecord } from '../history/records.js';

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

/** The same of a wait of which only the item is known. Its task may be: then its server still has it. */
export function timedOut(token: TokenRecord): TokenOutcome {
  const { workerStart, attempt, handle } = token;
  if (handle !== undefined) return { kind: 'timed_out', taskId: handle.taskId };
  if (workerStart?.attempt !== attempt) return { kind: 'timed_out' };
  return startTimedOut({ failedAttempts: attempt - 1 }, token);
}

/** Until when a worker with so much time left waits for the answer to a start, and still has time to take it. */
export function longestCallUntilMs(nowMs: EpochMs, remainingMs: number): EpochMs {
  return nowMs + Math.min(startPatienceMs, remainingMs - startTakeMs);
}
