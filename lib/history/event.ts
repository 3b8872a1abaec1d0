import type { StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { Question } from './question.js';
import type { AskedQuestion, RemoteAnswer } from './remote-question.js';
import type { RemoteProtocol } from './remote-protocol.js';

/** What finds a remote task again. Kept on the token item and in the history; holds no URL and no secret. */
export interface RemoteTaskHandle {
  /** Name of the server in the app's configuration. */
  readonly server: string;
  readonly protocol: RemoteProtocol;
  /** Revision spoken when the task was started; polls keep to it. */
  readonly wire: string;
  readonly taskId: string;
  readonly contextId?: string;
  /** MCP: what the server promised to keep the task for, from its creation. */
  readonly ttlMs?: number;
  /** A2A: over which interface of its card the task was started. Missing: JSON-RPC. */
  readonly binding?: 'JSONRPC' | 'HTTP+JSON';
  /** A2A: the tenant under which the task was started, where the agent has tenants. */
  readonly tenant?: string;
  /** MCP 2025-11-25: the session in which the task was started, where the server has sessions. */
  readonly session?: string;
  /** MCP: the tool that started it, of a job that other tools tell of; `taskId` is the id of the job, and `wire` begins with `jobs-`. */
  readonly job?: string;
  /** The id of the job is a number. */
  readonly numericId?: true;
  /** MCP 2026-07-28: the start declared that questions are answered, and each read of the task declares the same. */
  readonly answersQuestions?: true;
}

/** How a run ends, or ended. */
export type RunOutcome =
  | { readonly status: 'completed'; readonly result?: JsonValue }
  | { readonly status: 'failed'; readonly error: StoredError }
  | { readonly status: 'cancelled'; readonly reason?: string }
  | { readonly status: 'terminated'; readonly reason?: string }
  /** Goes on as another run with a history of its own. */
  | { readonly status: 'continued'; readonly nextRunId: RunId; readonly input?: JsonValue };

/** What becomes of a remote task when nobody waits for it any more. */
export type RemoteClosePolicy = 'cancel' | 'leave';

/** What happens to a child when its parent no longer waits for it. */
export type ParentClosePolicy = 'cancel' | 'terminate' | 'abandon';

/** When it happened. */
export interface At {
  /** When it happened, by the clock of whoever recorded it. */
  readonly atMs: EpochMs;
}

/** The first turn began. The input is on the head item. A run that is cancelled before a delayed start has none. */
export type RunStarted = At & {
  readonly type: 'RunStarted';
  readonly workflow: string;
  readonly version: string;
  readonly behaviors: number;
};
/** The workflow asked for a step; it may run from now on. */
export type StepRequested = At & {
  readonly type: 'StepRequested';
  readonly waitId: WaitId;
  readonly name: string;
  /** It runs in a worker of its own, which settles its token; in a turn otherwise. */
  readonly long?: true;
  /** Of a long step. */
  readonly deadlineAtMs?: EpochMs;
};
/** An attempt is about to run; recorded beforehand only where a crash during it must be noticed. */
export type StepStarted = At & {
  readonly type: 'StepStarted';
  readonly waitId: WaitId;
  readonly attempt: number;
  /** The process of the start before this one did not die: it was handed over, and counts for nothing. */
  readonly unharmed?: true;
};
/** One attempt failed and another will follow. */
export type StepAttemptFailed = At & {
  readonly type: 'StepAttemptFailed';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
  readonly retryAtMs: EpochMs;
  /** What the attempt last reported; the next one is given it. */
  readonly progress?: JsonValue;
};
export type StepCompleted = At & {
  readonly type: 'StepCompleted';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly result?: JsonValue;
};
/** No further attempt. */
export type StepFailed = At & {
  readonly type: 'StepFailed';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
};
export type TimerStarted = At & { readonly type: 'TimerStarted'; readonly waitId: WaitId; readonly firesAtMs: EpochMs };
export type TimerFired = At & { readonly type: 'TimerFired'; readonly waitId: WaitId };
/** The workflow called a remote task; its token may exist from now on. The deadline runs from here. */
export type RemoteTaskRequested = At & {
  readonly type: 'RemoteTaskRequested';
  readonly waitId: WaitId;
  readonly server: string;
  /** Tool, skill, or `message`. */
  readonly name: string;
  /** Of the whole call, arguments included: replay compares it with what the code asks for now. */
  readonly digest: string;
  /** The arguments where they are small, for the reader. */
  readonly input?: JsonValue;
  readonly deadlineAtMs: EpochMs;
  /** Whoever follows the run follows the task too. */
  readonly watch?: boolean;
};
/** The server answered with a task. */
export type RemoteTaskStarted = At & {
  readonly type: 'RemoteTaskStarted';
  readonly waitId: WaitId;
  readonly handle: RemoteTaskHandle;
};
/**
 * An attempt to start it is known not to have been processed, or may be repeated; the next one is due at `retryAtMs`. Also
 * one that was not made since the server is left alone: `attempt` is then that of the last one made, 0 before the first.
 */
export type RemoteTaskStartFailed = At & {
  readonly type: 'RemoteTaskStartFailed';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
  readonly retryAtMs: EpochMs;
  /** It was sent and got no usable answer: a task may be running. */
  readonly sent?: true;
};
/**
 * An attempt to start was sent, its fate is unknown, and it must not be repeated. At `lookAtMs` the server is asked for the
 * `look`-th time whether it has a task of it.
 */
export type RemoteTaskStartLost = At & {
  readonly type: 'RemoteTaskStartLost';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
  /** 1, 2, 3. */
  readonly look: number;
  readonly lookAtMs: EpochMs;
};
/** The remote task, or the server before it makes one, wants to know something. */
export type RemoteQuestionAsked = At &
  AskedQuestion & { readonly type: 'RemoteQuestionAsked'; readonly waitId: WaitId };
/** An attempt to start ended with questions, and nothing runs; the next one carries the answers. */
export type RemoteTaskStartAsked = At & {
  readonly type: 'RemoteTaskStartAsked';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly round: number;
};
/** The workflow answers; the answer may be delivered from now on. */
export type RemoteAnswerRequested = At & {
  readonly type: 'RemoteAnswerRequested';
  readonly waitId: WaitId;
  /** The wait of the call. */
  readonly callId: WaitId;
  /** Which of its questions (`questionId`). */
  readonly questionId: string;
  readonly answer: RemoteAnswer;
  /** Of question and answer. */
  readonly digest: string;
};
export type RemoteAnswerFailed = At & {
  readonly type: 'RemoteAnswerFailed';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
  readonly retryAtMs: EpochMs;
};
/** The server has it, or no longer asks. */
export type RemoteAnswerDelivered = At & { readonly type: 'RemoteAnswerDelivered'; readonly waitId: WaitId };
/** The server does not take it. */
export type RemoteAnswerRefused = At & {
  readonly type: 'RemoteAnswerRefused';
  readonly waitId: WaitId;
  readonly error: StoredError;
};
/** The token of a wait was settled. The settlement is on the token item, which is part of the truth; it is not copied. */
export type TokenSettled = At & { readonly type: 'TokenSettled'; readonly waitId: WaitId };
/** The workflow waits for a signal. */
export type SignalWaitStarted = At & {
  readonly type: 'SignalWaitStarted';
  readonly waitId: WaitId;
  readonly name: string;
  readonly deadlineAtMs?: EpochMs;
};
export type SignalWaitTimedOut = At & { readonly type: 'SignalWaitTimedOut'; readonly waitId: WaitId };
/** A signal was taken in. Its payload stays on the inbox item. */
export type SignalReceived = At & { readonly type: 'SignalReceived'; readonly inboxId: string; readonly name: string };
/** A wait was given a signal; derived by the workflow's code, recorded so that the log can be read without it. */
export type SignalDelivered = At & {
  readonly type: 'SignalDelivered';
  readonly waitId: WaitId;
  readonly inboxId: string;
};
/**
 * Waits of the workflow that it no longer waits for, and that nothing else would end: timers, signals, steps in a turn,
 * answers. Derived by its code like `SignalDelivered`. A wait that has a token is closed on its item.
 */
export type WaitsClosed = At & { readonly type: 'WaitsClosed'; readonly waitIds: readonly WaitId[] };
/** The workflow asked for a token that somebody outside will settle. */
export type ExternalWaitRequested = At & {
  readonly type: 'ExternalWaitRequested';
  readonly waitId: WaitId;
  readonly name: string;
  /** For a person to answer. */
  readonly form?: Question;
  readonly deadlineAtMs?: EpochMs;
};
/** Its item is there; the token, under the key of that id, may be handed out. */
export type ExternalWaitIssued = At & {
  readonly type: 'ExternalWaitIssued';
  readonly waitId: WaitId;
  readonly keyId: string;
};
/** The workflow asked for a child run. */
export type ChildRequested = At & {
  readonly type: 'ChildRequested';
  readonly waitId: WaitId;
  readonly workflow: string;
  readonly digest: string;
  readonly childRunId: RunId;
  readonly parentClose: ParentClosePolicy;
  readonly deadlineAtMs?: EpochMs;
};
/** The child's head is there. */
export type ChildStarted = At & { readonly type: 'ChildStarted'; readonly waitId: WaitId };
/** The code asked whether it may take a new path, and was told yes: from now on it always may. */
export type PatchRecorded = At & { readonly type: 'PatchRecorded'; readonly patchId: string };
export type ProgressReported = At & { readonly type: 'ProgressReported'; readonly progress: JsonValue };
export type RunPaused = At & { readonly type: 'RunPaused'; readonly inboxId: string; readonly untilMs: EpochMs };
export type RunResumed = At & { readonly type: 'RunResumed'; readonly inboxId?: string };
/** Everything that waits for its next attempt is tried now. */
export type RetryNowRequested = At & { readonly type: 'RetryNowRequested'; readonly inboxId: string };
export type CancelRequested = At & {
  readonly type: 'CancelRequested';
  readonly inboxId: string;
  readonly reason?: string;
};
export type TerminateRequested = At & {
  readonly type: 'TerminateRequested';
  readonly inboxId: string;
  readonly reason?: string;
};
/** The outcome is fixed. Only the closing of waits and the terminal commit may follow. */
export type RunEnding = At & {
  readonly type: 'RunEnding';
  readonly outcome: RunOutcome;
  /** Cancels that were taken in and reached no wait: the run that this one goes on as is given them. */
  readonly unheard?: readonly string[];
};
/** The run has ended; every wait that the log asked for is closed. */
export type RunEnded = At & { readonly type: 'RunEnded'; readonly status: RunOutcome['status'] };

/** Everything that can be in a history. Order of events = order in the commits. */
export type HistoryEvent =
  | RunStarted
  | StepRequested
  | StepStarted
  | StepAttemptFailed
  | StepCompleted
  | StepFailed
  | TimerStarted
  | TimerFired
  | RemoteTaskRequested
  | RemoteTaskStarted
  | RemoteTaskStartFailed
  | RemoteTaskStartLost
  | RemoteTaskStartAsked
  | RemoteQuestionAsked
  | RemoteAnswerRequested
  | RemoteAnswerFailed
  | RemoteAnswerDelivered
  | RemoteAnswerRefused
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
  | RunPaused
  | RunResumed
  | RetryNowRequested
  | CancelRequested
  | TerminateRequested
  | RunEnding
  | RunEnded;

/** One item of the log: what one turn added in one conditional write. */
export interface Commit {
  /** 1, 2, 3 … without a gap. */
  readonly seq: number;
  readonly events: readonly HistoryEvent[];
}
