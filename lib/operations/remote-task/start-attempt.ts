import { storedError, type StoredError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskStartAsked, RemoteTaskStartFailed, RemoteTaskStartLost } from '../../history/event.js';
import type { Settlement, TokenRecord } from '../../history/records.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { Deps } from '../deps.js';
import type { Persist } from '../persist.js';
import { newSettlement, settleInTime } from '../settle-in-time.js';
import type { TurnLimits } from '../turn-limits.js';
import type { RemoteTarget } from './remote-target.js';

/** A remote task that is to be started, and by whom. */
export interface RemoteStart {
  readonly runId: RunId;
  readonly wait: OpenRemoteTask;
  readonly command: StartRemoteTask;
  /** This turn, so that its own put is recognised after a lost acknowledgement. */
  readonly turnId: string;
  /** Writer ids under which this turn has called the server already. */
  readonly called: Set<string>;
  readonly limits: TurnLimits;
  /** Deadline of the whole run. */
  readonly runEndsAtMs?: EpochMs | undefined;
  readonly persist: Persist;
  /** The attempt is for a worker to make: its answer may take longer than a turn. */
  readonly byWorker?: boolean;
  /** The answer may take until then. Default: as long as a turn can wait. */
  readonly callUntilMs?: EpochMs;
}

/** An attempt of a start whose token item is there. */
export interface ClaimedAttempt {
  readonly deps: Deps;
  readonly start: RemoteStart;
  /** Counted from 1. */
  readonly number: number;
  /** The item when the attempt was claimed, or as it was found. */
  readonly token: TokenRecord;
}

/** The same with its server. */
export interface StartAttempt extends ClaimedAttempt {
  readonly target: RemoteTarget;
}

/** What an attempt to start leaves behind. */
export interface StartResult {
  /** The token item as it is now. */
  readonly token: TokenRecord;
  /** What the attempt is known to have come to, where another follows: to be committed before it. */
  readonly attempted?: RemoteTaskStartFailed | RemoteTaskStartLost | RemoteTaskStartAsked;
  /** A worker makes the call, and says what came of it. */
  readonly isWithWorker?: true;
  /** The attempt is claimed, and there was too little time for its call: another turn makes it. */
  readonly isPutOff?: true;
}

/** What a worker came to with a start that was handed over. */
export type MadeStart =
  /** Its task is known, or its wait ended; or a closed wait turned out to have none. */
  | 'done'
  /** What it came to is on the item, for a turn. */
  | 'told'
  /** Not called for now: its server is left alone, or the run is paused, blocked or about to end. The sweep comes back to it. */
  | 'put off'
  /** The message was for a due instant that is no longer the item's, or nobody waits for the start any more. */
  | 'stale';

/** Ends the wait of a start, unless it has ended. */
export async function settleStart(
  { deps, start: { runId, wait, persist }, token }: Pick<ClaimedAttempt, 'deps' | 'start' | 'token'>,
  end: Pick<Settlement, 'by' | 'outcome'>,
  unless?: 'handle',
): Promise<StartResult> {
  const settlement = newSettlement(deps, end);
  // No wake: the turn that called takes it in with its next commit.
  const { waitId } = wait;
  const { token: now } = await persist(() =>
    end.by === 'timeout'
      ? deps.store.tokens.settle(runId, waitId, settlement)
      : settleInTime(deps, { runId, waitId }, settlement, unless),
  );
  return { token: now ?? token };
}

/** Ends the wait of a start with an error. */
export async function failStart(
  attempt: Pick<ClaimedAttempt, 'deps' | 'start' | 'token'>,
  error: StoredError,
  unless?: 'handle',
): Promise<StartResult> {
  return settleStart(attempt, { by: 'start', outcome: { kind: 'failed', error } }, unless);
}

/** Ends the wait of a start that may have left a task. `cause` goes on in brackets. */
export async function failAsAmbiguous(attempt: ClaimedAttempt, cause: string): Promise<StartResult> {
  const { server } = attempt.start.command;
  const message = `a task on "${server}" may have been started and its id is not known (${cause}.`;
  return failStart(attempt, storedError('REMOTE_START_AMBIGUOUS', message, { server }), 'handle');
}

/** The attempt is claimed, and nothing was sent. */
export function notMade({ deps, start: { wait, command }, number, token }: ClaimedAttempt): StartResult {
  const { server } = command;
  const atMs = deps.clock.nowMs();
  const error = storedError('REMOTE_UNREACHABLE', 'the call was not made: too little time was left', { server });
  const { waitId } = wait;
  return { token, attempted: { type: 'RemoteTaskStartFailed', atMs, waitId, attempt: number, error, retryAtMs: atMs } };
}

/** The attempt ended with questions; whatever is on the item, another owner may have been asked too. */
export function askedAgain({ deps, start, number, token }: ClaimedAttempt): StartResult {
  const round = token.questions?.round;
  if (round === undefined || token.settlement !== undefined || token.handle !== undefined) return { token };
  const atMs = deps.clock.nowMs();
  const { waitId } = start.wait;
  return { token, attempted: { type: 'RemoteTaskStartAsked', atMs, waitId, attempt: number, round } };
}
