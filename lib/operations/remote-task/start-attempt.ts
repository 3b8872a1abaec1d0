import { storedError, type StoredError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskStartAsked, RemoteTaskStartFailed, RemoteTaskStartLost } from '../../history/event.js';
import type { Settlement, TokenRecord } from '../../history/records.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { Deps } from '../deps.js';
import type { Persist } from '../persist.js';
import { newSettlement, settle, settleInTime } from '../settle-in-time.js';
import type { TurnLimits } from '../turn-limits.js';
import type { RemoteTarget } from './remote-target.js';

/** A remote task to be started, and the turn or worker that starts it. */
export interface RemoteStart {
  readonly runId: RunId;
  /** Trace context of the run, unless its trace is a function of its id. */
  readonly traceparent?: string | undefined;
  /** Marks of the tasks that have led to the run by calls, its own last. */
  readonly calls?: readonly string[] | undefined;
  readonly wait: OpenRemoteTask;
  readonly command: StartRemoteTask;
  /** Id of this turn, so that its own put is recognised after a lost acknowledgement. */
  readonly turnId: string;
  /** Writer ids under which this turn has already called the server. */
  readonly called: Set<string>;
  readonly limits: TurnLimits;
  /** Deadline of the whole run. */
  readonly runEndsAtMs?: EpochMs | undefined;
  readonly persist: Persist;
  /** Whether a worker is to make the attempt: its answer may take longer than a turn. */
  readonly byWorker?: boolean;
  /** Limit of the call. Default: as long as a turn can wait. */
  readonly callUntilMs?: EpochMs;
}

/** An attempt to start, whose token item exists. */
export interface ClaimedAttempt {
  readonly deps: Deps;
  readonly start: RemoteStart;
  /** Counted from 1. */
  readonly number: number;
  /** The item as claimed for the attempt, or as found. */
  readonly token: TokenRecord;
}

/** An attempt with its server. */
export interface StartAttempt extends ClaimedAttempt {
  readonly target: RemoteTarget;
}

/** Result of an attempt to start. */
export interface StartResult {
  /** The current token item. */
  readonly token: TokenRecord;
  /** Result of an attempt that another one follows; to be committed before that one. */
  readonly attempted?: RemoteTaskStartFailed | RemoteTaskStartLost | RemoteTaskStartAsked;
  /** A worker makes the call and reports the result. */
  readonly isWithWorker?: true;
  /** The attempt is claimed, but there was too little time for its call: another turn makes it. */
  readonly isPutOff?: true;
}

/** Result of a worker's attempt at a start that was handed over. */
export type MadeStart =
  /** The task is known or the wait ended; or the start of a closed wait turned out to have no task. */
  | 'done'
  /** The result is on the item, for a turn to take. */
  | 'told'
  /**
   * Not called now: the server must not be called, or the run is paused, blocked or about to end. The sweep retries.
   */
  | 'put off'
  /** The message is for an earlier due instant of the item, or the start is no longer waited for. */
  | 'stale';

/** Settles the wait of a start, unless it is settled. */
export async function settleStart(
  { deps, start: { runId, wait, persist }, token }: Pick<ClaimedAttempt, 'deps' | 'start' | 'token'>,
  end: Pick<Settlement, 'by' | 'outcome'>,
  unless?: 'handle',
): Promise<StartResult> {
  const settlement = newSettlement(deps, end);
  // No wake: the turn that called takes the settlement in with its next commit.
  const { waitId } = wait;
  const { token: now } = await persist(() =>
    end.by === 'timeout'
      ? settle(deps, { runId, waitId }, settlement)
      : settleInTime(deps, { runId, waitId }, settlement, unless),
  );
  return { token: now ?? token };
}

/** Settles the wait of a start with an error. */
export async function failStart(
  attempt: Pick<ClaimedAttempt, 'deps' | 'start' | 'token'>,
  error: StoredError,
  unless?: 'handle',
): Promise<StartResult> {
  return settleStart(attempt, { by: 'start', outcome: { kind: 'failed', error } }, unless);
}

/** Settles the wait of a start that may have left a task. `cause` continues the text in brackets, and closes them. */
export async function failAsAmbiguous(attempt: ClaimedAttempt, cause: string): Promise<StartResult> {
  const { server } = attempt.start.command;
  const message = `a task on "${server}" may have been started, but its id is not known (${cause}.`;
  return failStart(attempt, storedError('REMOTE_START_AMBIGUOUS', message, { server }), 'handle');
}

/** Returns the result of a claimed attempt for which nothing was sent. */
export function notMade({ deps, start: { wait, command }, number, token }: ClaimedAttempt): StartResult {
  const { server } = command;
  const atMs = deps.clock.nowMs();
  const error = storedError('REMOTE_UNREACHABLE', 'the call was not made: too little time was left', { server });
  const { waitId } = wait;
  return { token, attempted: { type: 'RemoteTaskStartFailed', atMs, waitId, attempt: number, error, retryAtMs: atMs } };
}

/** Returns the result of an attempt that ended with questions, from the item: another owner may have been asked too. */
export function askedAgain({ deps, start, number, token }: ClaimedAttempt): StartResult {
  const round = token.questions?.round;
  if (round === undefined || token.settlement !== undefined || token.handle !== undefined) return { token };
  const atMs = deps.clock.nowMs();
  const { waitId } = start.wait;
  return { token, attempted: { type: 'RemoteTaskStartAsked', atMs, waitId, attempt: number, round } };
}
