import type { StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { At, ByCaller } from './at.js';
import type { AddressedQuestion } from './question.js';
import type { RemoteTaskEvent } from './remote-task-event.js';
import type { Artifact } from './task-content.js';

export type * from './at.js';
export type * from './remote-task-event.js';

/** How a run ends or ended. */
export type RunOutcome =
  | { readonly status: 'completed'; readonly result?: JsonValue }
  | { readonly status: 'failed'; readonly error: StoredError }
  | { readonly status: 'cancelled'; readonly reason?: string }
  | { readonly status: 'terminated'; readonly reason?: string }
  /** Continued as another run with its own history. */
  | { readonly status: 'continued'; readonly nextRunId: RunId; readonly input?: JsonValue };

/** Policy for a child run that its parent no longer waits for. */
export type ParentClosePolicy = 'cancel' | 'terminate' | 'abandon';

/** The first turn began. The input is on the head item. Missing for a run that is cancelled before a delayed start. */
export type RunStarted = At & {
  readonly type: 'RunStarted';
  readonly workflow: string;
  readonly version: string;
  readonly behaviors: number;
};
/** The workflow requested a step, which may run from now on. */
export type StepRequested = At & {
  readonly type: 'StepRequested';
  readonly waitId: WaitId;
  readonly name: string;
  /** The step runs in its own worker, which settles its token; otherwise in a turn. */
  readonly long?: true;
  /** Only of a long step. */
  readonly deadlineAtMs?: EpochMs;
};
/** An attempt is about to run; recorded only if a crash during it must be noticed. */
export type StepStarted = At & {
  readonly type: 'StepStarted';
  readonly waitId: WaitId;
  readonly attempt: number;
  /** The start before this one was handed over without a crash, and does not count as interrupted. */
  readonly unharmed?: true;
};
/** An attempt failed and another will follow. */
export type StepAttemptFailed = At & {
  readonly type: 'StepAttemptFailed';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
  readonly retryAtMs: EpochMs;
  /** Last progress of the attempt, passed to the next one. */
  readonly progress?: JsonValue;
};
export type StepCompleted = At & {
  readonly type: 'StepCompleted';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly result?: JsonValue;
};
/** The step failed without a further attempt. */
export type StepFailed = At & {
  readonly type: 'StepFailed';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
};
export type TimerStarted = At & { readonly type: 'TimerStarted'; readonly waitId: WaitId; readonly firesAtMs: EpochMs };
export type TimerFired = At & { readonly type: 'TimerFired'; readonly waitId: WaitId };
/** The token of a wait was settled. The settlement stays on the token item, which is part of the truth. */
export type TokenSettled = At & ByCaller & { readonly type: 'TokenSettled'; readonly waitId: WaitId };
/** The workflow waits for a signal. */
export type SignalWaitStarted = At & {
  readonly type: 'SignalWaitStarted';
  readonly waitId: WaitId;
  readonly name: string;
  readonly deadlineAtMs?: EpochMs;
};
export type SignalWaitTimedOut = At & { readonly type: 'SignalWaitTimedOut'; readonly waitId: WaitId };
/** A signal was received. Its payload stays on the inbox item. */
export type SignalReceived = At &
  ByCaller & { readonly type: 'SignalReceived'; readonly inboxId: string; readonly name: string };
/**
 * A signal was delivered to a wait; derived by the workflow's code, recorded so that the log can be read without the
 * code.
 */
export type SignalDelivered = At & {
  readonly type: 'SignalDelivered';
  readonly waitId: WaitId;
  readonly inboxId: string;
};
/**
 * The workflow no longer waits for these, and nothing else would end them: timers, signals, steps in a turn, answers.
 * Derived by the code like `SignalDelivered`. A wait with a token is closed on its item instead.
 */
export type WaitsClosed = At & { readonly type: 'WaitsClosed'; readonly waitIds: readonly WaitId[] };
/** The workflow requested a token that is settled from outside. */
export type ExternalWaitRequested = At & {
  readonly type: 'ExternalWaitRequested';
  readonly waitId: WaitId;
  readonly name: string;
  /** The question to a person, if any. */
  readonly form?: AddressedQuestion;
  readonly deadlineAtMs?: EpochMs;
};
/** The token item exists; the token, signed with the key `keyId`, may be handed out. */
export type ExternalWaitIssued = At & {
  readonly type: 'ExternalWaitIssued';
  readonly waitId: WaitId;
  readonly keyId: string;
};
/** The workflow requested a child run. */
export type ChildRequested = At & {
  readonly type: 'ChildRequested';
  readonly waitId: WaitId;
  readonly workflow: string;
  readonly digest: string;
  readonly childRunId: RunId;
  readonly parentClose: ParentClosePolicy;
  readonly deadlineAtMs?: EpochMs;
};
/** The head of the child run exists. */
export type ChildStarted = At & { readonly type: 'ChildStarted'; readonly waitId: WaitId };
/** The code may take a new path (`ctx.patched`), from now on always. */
export type PatchRecorded = At & { readonly type: 'PatchRecorded'; readonly patchId: string };
export type ProgressReported = At & { readonly type: 'ProgressReported'; readonly progress: JsonValue };
/** The workflow has shown its caller an artifact of the task, or more of one. */
export type ArtifactUpdated = At & {
  readonly type: 'ArtifactUpdated';
  readonly artifact: Artifact;
  /** The parts are added to those of the artifact with the same id; otherwise they replace them. */
  readonly append?: true;
  readonly lastChunk?: true;
};
/** A message of the caller of a served task was received. It stays on the inbox item. */
export type MessageReceived = At &
  ByCaller & {
    readonly type: 'MessageReceived';
    readonly inboxId: string;
    /** The wait of the question that it answers; otherwise the workflow reads it by `ctx.messages`. */
    readonly answers?: WaitId;
    /** An earlier run of the task had received it, and left it unread. */
    readonly carried?: true;
  };
export type RunPaused = At &
  ByCaller & { readonly type: 'RunPaused'; readonly inboxId: string; readonly untilMs: EpochMs };
export type RunResumed = At & ByCaller & { readonly type: 'RunResumed'; readonly inboxId?: string };
/** Everything that waits for its next attempt is retried now. */
export type RetryNowRequested = At & ByCaller & { readonly type: 'RetryNowRequested'; readonly inboxId: string };
export type CancelRequested = At &
  ByCaller & {
    readonly type: 'CancelRequested';
    readonly inboxId: string;
    readonly reason?: string;
  };
export type TerminateRequested = At &
  ByCaller & {
    readonly type: 'TerminateRequested';
    readonly inboxId: string;
    readonly reason?: string;
  };
/** The outcome is fixed. Only the closing of waits and the final commit may follow. */
export type RunEnding = At & {
  readonly type: 'RunEnding';
  readonly outcome: RunOutcome;
  /** Cancels that were received and reached no wait: the next run of `continueAsNew` gets them. */
  readonly unheard?: readonly string[];
};
/** The run has ended; every wait of the log is closed. */
export type RunEnded = At & { readonly type: 'RunEnded'; readonly status: RunOutcome['status'] };

/** Any event of a history. Events are ordered as in the commits. */
export type HistoryEvent =
  | RunStarted
  | StepRequested
  | StepStarted
  | StepAttemptFailed
  | StepCompleted
  | StepFailed
  | TimerStarted
  | TimerFired
  | RemoteTaskEvent
  | TokenSettled
  | SignalWaitStarted
  | SignalWaitTimedOut
  | SignalReceived
  | SignalDelivered
  | WaitsClosed
  | ExternalWaitRequested
  | ExternalWaitIssued
  | ChildRequested
  | ChildStarted
  | PatchRecorded
  | ProgressReported
  | ArtifactUpdated
  | MessageReceived
  | RunPaused
  | RunResumed
  | RetryNowRequested
  | CancelRequested
  | TerminateRequested
  | RunEnding
  | RunEnded;

/** An item of the log: the events that a turn added in one conditional write. */
export interface Commit {
  /** 1, 2, 3 … without a gap. */
  readonly seq: number;
  readonly events: readonly HistoryEvent[];
}
