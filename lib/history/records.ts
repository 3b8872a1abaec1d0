// Records of a run's partition as operations see them. store/items has their layout in the table.

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
import type { RunCallback } from './push-config.js';
import type { OfQuestion } from './question.js';
import type { RemoteQuestion } from './remote-question.js';
import type { Settlement, TokenOutcome } from './settlement.js';
import type { DebouncedStart, LanePlace } from './start-records.js';
import type { TaskMessage, TaskHint, TaskOfRun } from './task-content.js';
import type { TaskTrail } from './task-trail.js';

export type { DebouncedStart, LanePlace };

/** Status as stored. `ending`: the outcome is fixed and waits are being closed. */
export type RunStatus = 'running' | 'ending' | RunOutcome['status'];

/** The marker of an item: when the item next needs work. */
export interface Marker {
  readonly dueAtMs?: EpochMs;
}

/** The wait of a parent run for its child. */
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
  /** Seed of `ctx.random` and `ctx.uuid`; not derived from the run id, which is not secret. */
  readonly seed: string;
  readonly createdAtMs: EpochMs;
  readonly endedAtMs?: EpochMs;
  /** The caller's own id of the start, also for the runs that it continues as. Missing in runs of earlier versions. */
  readonly id?: string;
  /** Idempotency key of the start, if any; also for the runs that it continues as, except those of earlier versions. */
  readonly key?: string;
  /** Digest of what a start with a key sent. Missing for the engine's own keys, and for runs of earlier versions. */
  readonly sentDigest?: string;
  /** The run does not begin before this other run, including its continuations, has ended. */
  readonly afterRunId?: RunId;
  /** Its place among the runs with the same concurrency key, if it has one. */
  readonly lane?: LanePlace;
  /** Set until the run begins, if later starts may replace its input and its start. */
  readonly debounce?: DebouncedStart;
  /** Why the input of a continuation does not match the workflow. The run fails before any code runs. */
  readonly inputError?: StoredError;
  /** When the run ends as failed. */
  readonly deadlineAtMs?: EpochMs;
  /** When the run begins at the earliest. */
  readonly startAtMs?: EpochMs;
  /** The wait of the parent, which the end of this run settles. */
  readonly parent?: ParentWait;
  /** The run that continued as this one. */
  readonly previousRunId?: RunId;
  /** The run as which this one continued. */
  readonly nextRunId?: RunId;
  /** A later run of the same chain, stored by a long walk along it: a short cut that nothing depends on. */
  readonly laterRunId?: RunId;
  /** W3C trace context in which the run was started: of a caller, or of the wait of its parent. */
  readonly traceparent?: string;
  /** Tags for lists and search. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Who started the run, or its first ancestor. Missing for runs that no caller with a name started. */
  readonly owner?: string;
  /** The tenant that the run belongs to, also for its children and for the runs that it continues as. */
  readonly tenant?: string;
  /** Whether the run is counted among the live runs of its tenant, until it or the last run it continues as has ended. */
  readonly counted?: boolean;
  /** Counters of tasks under way that count the run, until it or the last run it continues as has ended. */
  readonly counters?: readonly string[];
  /**
   * Marks of the tasks that have led to this run by calls of one another, the last one that of its own task. Sent with
   * its calls.
   */
  readonly calls?: readonly string[];
  /** Where the end of the run is told, also that of the last run it continues as. */
  readonly callback?: RunCallback;
  /** The task as which the run is served, if it is. */
  readonly task?: TaskOfRun;
  /** Status of the task when the run last rested, for lists. */
  readonly taskHint?: TaskHint;
  /** Number of accepted requests to the run. */
  readonly inboxCount: number;
  /** Commit from which the head's marker was computed. */
  readonly dueSeq: number;
  /** How often the run was blocked. */
  readonly blocks: number;
  /** Last commit whose lifecycle events are published. Missing if the run was started without a bus. */
  readonly publishedSeq?: number;
  /** Why the run cannot continue until another deployment, if it is blocked. */
  readonly blocked?: StoredError;
  /** Failed turns in a row, if the last one failed. */
  readonly failedTurns?: FailedTurns;
  /** What the lists say of the run. Only for them. */
  readonly held?: Held;
}

/** What a workflow may know of its start. Never changes once the head is there. */
export type StartFacts = Pick<
  RunHead,
  'version' | 'id' | 'key' | 'tags' | 'parent' | 'previousRunId' | 'owner' | 'tenant' | 'task'
>;

/** Turns of a run in a row that threw in the same way. */
export interface FailedTurns {
  /** Digest of the place where the error was thrown. */
  readonly cause: string;
  readonly count: number;
  /** When the last of them failed. */
  readonly atMs: EpochMs;
}

/** The fields of a head without payloads: readable even if the input is not. */
export type RunGlance = Pick<
  RunHead,
  'runId' | 'workflow' | 'status' | 'inboxCount' | 'nextRunId' | 'deadlineAtMs' | 'dueAtMs' | 'dueSeq' | 'failedTurns'
>;

export type { Settlement, TokenOutcome };

/** The token item: the settlement of a wait, the handle of its remote task, the state of polling. */
export interface TokenRecord extends Marker, OfQuestion {
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** Server of a remote task; missing on the tombstone of a wait that was closed before its item existed. */
  readonly server?: string;
  readonly attempt: number;
  /** Id of the writer that put the item or claimed the current attempt. */
  readonly writerId: string;
  readonly createdAtMs: EpochMs;
  /** Missing if the wait has no deadline. */
  readonly deadlineAtMs?: EpochMs;
  readonly handle?: RemoteTaskHandle;
  /** The child run, if the wait is for one. */
  readonly child?: { readonly runId: RunId; readonly parentClose: ParentClosePolicy };
  /** State of the attempts, if the wait is for a long step. */
  readonly step?: LongStepRecord;
  /** State of a start that a worker makes outside a turn. Valid as long as it is about `attempt`. */
  readonly workerStart?: WorkerStart;
  /** Until when a worker has claimed the search for the task of a lost start whose wait is closed. */
  readonly lookUntilMs?: EpochMs;
  /** W3C trace context of the run, unless its trace is a function of its id. */
  readonly traceparent?: string;
  /** When the handle was stored. */
  readonly startedAtMs?: EpochMs;
  /**
   * When a start stored its handle on an item that was closed meanwhile: its task must be cancelled, whatever closed
   * it.
   */
  readonly leftAtMs?: EpochMs;
  /** When the server first pushed news of the task. From then on reads are only the backstop. */
  readonly pushedAtMs?: EpochMs;
  /** Last poll interval that the server suggested. */
  readonly pollHintMs?: number;
  /** Whether the call answers questions of the server. */
  readonly answersQuestions?: boolean;
  /** Questions of the server. */
  readonly questions?: TokenQuestions;
  /** What was seen of the remote task. Missing until a reply shows its state, and on items of earlier versions. */
  readonly trail?: TaskTrail;
  /** Whether the call has a handler for the progress of the task. */
  readonly followsProgress?: boolean;
  /** Number of the last change of the trail that a turn has taken in. */
  readonly progressTaken?: number;
  /** Tenant of the run of a question, for lists. */
  readonly tenant?: string;
  /** Failed reads in a row. */
  readonly pollErrors: number;
  /** Reads in a row that suggest that the task will never end, if any. */
  readonly sightings?: BadReads;
  /** For how long from its start the server keeps the task, if a read differed from the handle. */
  readonly ttlMs?: number;
  /** Policies for a remote task whose wait ends first. Missing: the task is cancelled. */
  readonly onCancel?: RemoteClosePolicy;
  readonly onTimeout?: RemoteClosePolicy;
  /** Result of the cancel of the remote task. */
  readonly cancel?: RemoteCancel;
  readonly settlement?: Settlement;
}

/**
 * `refused`: the server does not cancel (the task has ended, or cannot be cancelled). `gaveUp`: a day without an
 * answer.
 */
export interface RemoteCancel {
  readonly kind: 'sent' | 'refused' | 'gaveUp';
  readonly atMs: EpochMs;
}

/**
 * State of the attempts of a long step. The marker of the token is the time at which the next attempt is due or, while
 * an attempt runs, the end of the worker's lease. The writer id of the token is the id of the worker's claim.
 */
export interface LongStepRecord {
  readonly failedAttempts: number;
  /** Attempts begun since the last failed one: one of them may be running, the others died. */
  readonly strikes: number;
  /** When the last attempt began or failed. */
  readonly sinceMs: EpochMs;
  readonly lastError?: StoredError;
  /** Progress that an attempt last reported, as of its last beat. */
  readonly progress?: JsonValue;
}

/**
 * An attempt to start a remote task, made by a worker since the reply may take minutes. The marker of the token is the
 * time at which it is checked: no worker has acted on the message, or the lease of a claim is over.
 */
export interface WorkerStart {
  readonly attempt: number;
  /** Id of the claim under which a worker makes or made the call. */
  readonly claim?: string;
  /** End of the lease of that worker. */
  readonly untilMs?: EpochMs;
  /** Result of the attempt, if only a turn may act on it. */
  readonly came?: RemoteTaskStartFailed | RemoteTaskStartLost | RemoteTaskStartAsked;
  /** Why the call was last held back. */
  readonly held?: StoredError;
}

/** Questions of a remote server as last read. */
export interface TokenQuestions {
  readonly list: readonly RemoteQuestion[];
  /** Number of the round before there is a task, and the opaque state of the server. */
  readonly round?: number;
  readonly state?: string;
  /** How often questions were recorded, and how many of these recordings a turn has read. */
  readonly recorded: number;
  readonly taken: number;
}

/** A token whose remote task is known and can be polled. */
export type StartedToken = TokenRecord & { readonly handle: RemoteTaskHandle; readonly deadlineAtMs: EpochMs };

/** A request to a run from outside. Accepted until the outcome is fixed; a turn of the run acts on it. */
export type InboxRequest =
  | { readonly kind: 'cancel' | 'terminate'; readonly reason?: string }
  | { readonly kind: 'pause' | 'resume' | 'retryNow' }
  | { readonly kind: 'signal'; readonly name: string; readonly payload?: JsonValue }
  /**
   * A message of the caller of a served task; `answers`: the wait of the question that it answers; `carried`:
   * an earlier run of the task had received it.
   */
  | { readonly kind: 'message'; readonly payload: TaskMessage; readonly answers?: WaitId; readonly carried?: boolean };

export type InboxRecord = Marker & {
  readonly runId: RunId;
  readonly inboxId: string;
  readonly atMs: EpochMs;
  /** Digest of a request that has an id of the caller. */
  readonly sentDigest?: string;
  /**
   * Number of requests that the run had accepted when this one was sent: greater than the position of every request
   * that was accepted before. Missing on items of earlier versions.
   */
  readonly position?: number;
  /** Order among the requests that one process accepted in one millisecond. */
  readonly order?: number;
  /** Id of the caller. */
  readonly by?: string;
} & InboxRequest;

/** The partition of one run. Tokens and inbox may be newer than head and commits: a query is not a snapshot. */
export interface RunRecords {
  readonly head: RunHead;
  readonly commits: readonly Commit[];
  readonly tokens: readonly TokenRecord[];
  readonly inbox: readonly InboxRecord[];
}

/** A row of the due index. It may be stale. */
export type DueEntry =
  | { readonly kind: 'run' | 'inbox'; readonly runId: RunId; readonly dueAtMs: EpochMs }
  /** A push config of the task that the run is, or is the first of. */
  | { readonly kind: 'push'; readonly runId: RunId; readonly configId: string; readonly dueAtMs: EpochMs }
  | {
      readonly kind: 'token';
      readonly runId: RunId;
      readonly waitId: WaitId;
      /** Server of a wait for a remote task. */
      readonly server?: string;
      readonly dueAtMs: EpochMs;
      readonly settled: boolean;
      /** Whether the wait is for a long step. */
      readonly isLongStep: boolean;
    };

/** Position of a run in lists. */
export interface RunPosition {
  readonly runId: RunId;
  readonly createdAtMs: EpochMs;
}

/** What keeps a run under way from going on, as its row in the lists says; times may have passed. */
export type Held =
  | { readonly kind: 'blocked' }
  /** Until when, at the latest. */
  | { readonly kind: 'paused' | 'delayed'; readonly untilMs: EpochMs };

/** A row of the list index. */
export interface RunSummary extends RunPosition {
  readonly workflow: string;
  readonly status: RunStatus;
  readonly endedAtMs?: EpochMs;
  readonly tags?: Readonly<Record<string, string>>;
  readonly owner?: string;
  readonly tenant?: string;
  readonly held?: Held;
}

/** State of a schedule. Every change is one write on the condition that the state has not changed since it was read. */
export interface ScheduleState {
  /** Number of writes; 0 if it was never written. */
  readonly revision: number;
  /** When the schedule was first seen, or resumed: earlier ticks are ignored. */
  readonly fromMs?: EpochMs;
  /** The last processed tick. */
  readonly tickAtMs?: EpochMs;
  /** Run of the last tick that was started. */
  readonly runId?: RunId;
  /** A tick that must be started, and since when. Any sweep starts it, under a key that makes repeats the same run. */
  readonly starting?: { readonly tickAtMs: EpochMs; readonly sinceMs: EpochMs };
  /** A tick that waits for the end of the previous run. */
  readonly waitingTickAtMs?: EpochMs;
  /** When the schedule was paused, and by which caller. */
  readonly pausedAtMs?: EpochMs;
  readonly pausedBy?: string;
}
