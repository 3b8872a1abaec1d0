// The records of a run's partition as operations see them. How they are laid out in the table is in store/items.

import type { StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { BadReads } from './remote-end.js';
import type {
  Commit,
  ParentClosePolicy,
  RemoteClosePolicy,
  RemoteTaskHandle,
  RemoteTaskStartAsked,
  RemoteTaskStartFailed,
  RemoteTaskStartLost,
  RunOutcome,
} from './event.js';
import type { Question } from './question.js';
import type { RemoteQuestion } from './remote-question.js';
import type { Settlement, TokenOutcome } from './settlement.js';

/** Stored words; `ending` = the outcome is fixed, waits are being closed. */
export type RunStatus = 'running' | 'ending' | RunOutcome['status'];

/** Where a marker stands: the item that must next be looked at, and when. */
export interface Marker {
  readonly dueAtMs?: EpochMs;
}

/** The wait of a parent, and what it lets the child do. */
export interface ParentWait {
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** Missing for children of before. */
  readonly workflow?: string;
}

export interface RunHead extends Marker {
  readonly runId: RunId;
  readonly workflow: string;
  readonly version: string;
  readonly status: RunStatus;
  readonly input?: JsonValue;
  /** Seed of `ctx.random` and `ctx.uuid`; not derived from the run id, which others may know. */
  readonly seed: string;
  readonly createdAtMs: EpochMs;
  readonly endedAtMs?: EpochMs;
  /** The caller's own id of the start, and of the runs that it goes on as. Missing for runs of before. */
  readonly id?: string;
  /** Idempotency key of the start, if it had one; also of the runs that it goes on as, but for those of before. */
  readonly key?: string;
  /** Of what a start with a key has sent. Missing for keys of the engine's own, and for runs of before. */
  readonly sentDigest?: string;
  /** Nothing of it happens before this run, or what that goes on as, has ended. */
  readonly afterRunId?: RunId;
  /** Why its input does not fit the workflow: of a run that another one has gone on as. It fails before any code runs. */
  readonly inputError?: StoredError;
  /** The run is ended as failed at this instant. */
  readonly deadlineAtMs?: EpochMs;
  /** Nothing of it runs before. */
  readonly startAtMs?: EpochMs;
  /** The wait of another run that this one's end settles. */
  readonly parent?: ParentWait;
  /** The run that went on as this one. */
  readonly previousRunId?: RunId;
  /** The run that this one, `continued`, goes on as. */
  readonly nextRunId?: RunId;
  /** A later run of the same chain, noted by whoever has walked far along it: a short cut, nothing depends on it. */
  readonly laterRunId?: RunId;
  /** For lists and search. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Accepted signals, cancels and terminates. */
  readonly inboxCount: number;
  /** Commit that the head's marker was computed from. */
  readonly dueSeq: number;
  /** How often it was blocked. */
  readonly blocks: number;
  /** Up to which commit its lifecycle events have been published. Missing: it was started where nobody is told of them. */
  readonly publishedSeq?: number;
  /** Why the run cannot go on until a fixed deploy, if so. */
  readonly blocked?: StoredError;
  /** Turns in a row that threw, if the last one did. */
  readonly failedTurns?: FailedTurns;
}

/** What a workflow may know of its start. Never changes once the head is there. */
export type StartFacts = Pick<RunHead, 'version' | 'id' | 'key' | 'tags' | 'parent' | 'previousRunId'>;

/** Turns of a run that threw in the same way, one after the other. */
export interface FailedTurns {
  /** Digest of where it was thrown. */
  readonly cause: string;
  readonly count: number;
  /** The last time. */
  readonly atMs: EpochMs;
}

/** What a head says without any payload: it can be read where its input cannot. */
export type RunGlance = Pick<
  RunHead,
  'runId' | 'workflow' | 'status' | 'inboxCount' | 'nextRunId' | 'deadlineAtMs' | 'dueAtMs' | 'dueSeq' | 'failedTurns'
>;

export type { Settlement, TokenOutcome };

/** The token item: who may settle the wait, how its remote task is found, how the polling stands. */
export interface TokenRecord extends Marker {
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** Of a remote task; missing on a tombstone, a wait closed before its item existed. */
  readonly server?: string;
  readonly attempt: number;
  /** Who put the item or claimed the current attempt. */
  readonly writerId: string;
  readonly createdAtMs: EpochMs;
  /** Missing where a wait has no deadline. */
  readonly deadlineAtMs?: EpochMs;
  readonly handle?: RemoteTaskHandle;
  /** Of a wait for a child run. */
  readonly child?: { readonly runId: RunId; readonly parentClose: ParentClosePolicy };
  /** Of a wait for a long step: how its attempts stand. */
  readonly step?: LongStepRecord;
  /** State of a start that a worker makes outside of a turn. Counts as long as it is about `attempt`. */
  readonly workerStart?: WorkerStart;
  /** Until when nobody else looks for the task of a start of unknown fate, whose wait is closed: a worker does, or waits to. */
  readonly lookUntilMs?: EpochMs;
  /** When the handle was stored. */
  readonly startedAtMs?: EpochMs;
  /** When a start gave its handle to the item that was closed meanwhile: its task is to be cancelled, whatever closed it. */
  readonly leftAtMs?: EpochMs;
  /** The server's last word on how often to ask. */
  readonly pollHintMs?: number;
  /** Of a call that answers what the server asks. */
  readonly answersQuestions?: boolean;
  /** What the server asks. */
  readonly questions?: TokenQuestions;
  /** Of a wait for a person. */
  readonly form?: Question;
  /** Failing reads in a row. */
  readonly pollErrors: number;
  /** What reads in a row have said against the task ever ending, if they have. */
  readonly sightings?: BadReads;
  /** For how long from its start the server keeps the task, where a read said otherwise than the handle. */
  readonly ttlMs?: number;
  /** What becomes of a remote task whose wait ends first. Missing: it is cancelled. */
  readonly onCancel?: RemoteClosePolicy;
  readonly onTimeout?: RemoteClosePolicy;
  /** What came of asking the server to cancel it. */
  readonly cancel?: RemoteCancel;
  readonly settlement?: Settlement;
}

/** `refused`: the server will not (it has ended, it cannot be cancelled). `gaveUp`: the server could not be asked for a day. */
export interface RemoteCancel {
  readonly kind: 'sent' | 'refused' | 'gaveUp';
  readonly atMs: EpochMs;
}

/**
 * How the attempts of a long step stand. Its marker is the instant at which the next attempt is due; while one runs, the
 * end of the worker's lease. The writer id of the token is that of the worker's claim.
 */
export interface LongStepRecord {
  readonly failedAttempts: number;
  /** Attempts that were begun since the last one that failed: one of them may be running, the others died. */
  readonly strikes: number;
  /** When the last attempt began, or failed. */
  readonly sinceMs: EpochMs;
  readonly lastError?: StoredError;
  /** What an attempt last reported, as of its last beat. */
  readonly progress?: JsonValue;
}

/**
 * An attempt to start a remote task that a worker makes, since the answer may take minutes. The marker of the token is the
 * instant at which somebody looks at it again: nobody has acted upon the message, or the lease of a claim is over.
 */
export interface WorkerStart {
  readonly attempt: number;
  /** Id of the claim under which a worker makes the call, or has made it. */
  readonly claim?: string;
  /** Until when that worker counts as alive. */
  readonly untilMs?: EpochMs;
  /** What the attempt came to, where only a turn may act upon it. */
  readonly came?: RemoteTaskStartFailed | RemoteTaskStartLost | RemoteTaskStartAsked;
  /** Why the call was held back the last time. */
  readonly held?: StoredError;
}

/** Questions of a remote server as they were last seen. */
export interface TokenQuestions {
  readonly list: readonly RemoteQuestion[];
  /** Of those that come before there is a task: which time it is, and the server's opaque state. */
  readonly round?: number;
  readonly state?: string;
  /** How often questions were recorded, and how many of these recordings a turn has taken in. */
  readonly recorded: number;
  readonly taken: number;
}

/** A token whose remote task is known and may be polled. */
export type StartedToken = TokenRecord & { readonly handle: RemoteTaskHandle; readonly deadlineAtMs: EpochMs };

/** What somebody outside asks of a run. Accepted as long as its outcome is open; the run's own turn acts on it. */
export type InboxRequest =
  | { readonly kind: 'cancel' | 'terminate'; readonly reason?: string }
  | { readonly kind: 'pause' | 'resume' | 'retryNow' }
  | { readonly kind: 'signal'; readonly name: string; readonly payload?: JsonValue };

export type InboxRecord = Marker & {
  readonly runId: RunId;
  readonly inboxId: string;
  readonly atMs: EpochMs;
  /** Of what was sent under an id of the caller's. */
  readonly sentDigest?: string;
  /**
   * How many requests the run had accepted when this one was sent: greater than that of every request accepted before.
   * Missing on items of earlier versions.
   */
  readonly position?: number;
  /** Which of those that one process accepted in one millisecond came first. */
  readonly order?: number;
} & InboxRequest;

/** Everything in the partition of one run. Tokens and inbox may be newer than head and commits: a query is no snapshot. */
export interface RunRecords {
  readonly head: RunHead;
  readonly commits: readonly Commit[];
  readonly tokens: readonly TokenRecord[];
  readonly inbox: readonly InboxRecord[];
}

/** One row of the due index. A hint: it may be stale. */
export type DueEntry =
  | { readonly kind: 'run' | 'inbox'; readonly runId: RunId; readonly dueAtMs: EpochMs }
  | {
      readonly kind: 'token';
      readonly runId: RunId;
      readonly waitId: WaitId;
      /** Of a wait for a remote task. */
      readonly server?: string;
      readonly dueAtMs: EpochMs;
      readonly settled: boolean;
      /** Of a wait for a long step. */
      readonly isLongStep: boolean;
    };

/** Where a run stands in lists. */
export interface RunPosition {
  readonly runId: RunId;
  readonly createdAtMs: EpochMs;
}

/** One row of the list index. */
export interface RunSummary extends RunPosition {
  readonly workflow: string;
  readonly status: RunStatus;
  readonly endedAtMs?: EpochMs;
  readonly tags?: Readonly<Record<string, string>>;
}

/** How a schedule stands. Every change is one write, made only if nobody else has changed it since it was read. */
export interface ScheduleState {
  /** How often it was written; 0 when it never was. */
  readonly revision: number;
  /** Ticks up to this instant are not looked at: it was first seen, or resumed, then. */
  readonly fromMs?: EpochMs;
  /** The last tick that was dealt with. */
  readonly tickAtMs?: EpochMs;
  /** Of the tick that was started last. */
  readonly runId?: RunId;
  /** A tick that is to be started, and since when; whoever finds it starts it, under a key that makes that one run. */
  readonly starting?: { readonly tickAtMs: EpochMs; readonly sinceMs: EpochMs };
  /** A tick that waits for the end of the run before it. */
  readonly waitingTickAtMs?: EpochMs;
  /** Nothing starts since then. */
  readonly pausedAtMs?: EpochMs;
}

/** Where an id of a caller points, and how often it has been pointed anew. */
export interface RunName {
  readonly runId: RunId;
  readonly generation: number;
}
