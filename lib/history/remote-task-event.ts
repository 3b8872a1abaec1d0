// Events of remote tasks. `event.ts` hands them on with all others.

import type { StoredError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { At } from './at.js';
import type { AskedQuestion, RemoteAnswer } from './remote-question.js';
import type { RemoteProtocol } from './remote-protocol.js';
import type { TaskProgress } from './task-trail.js';

/** Identifies a remote task. Kept on the token item and in the history; holds no URL and no secret. */
export interface RemoteTaskHandle {
  /** Name of the server in the app's configuration. */
  readonly server: string;
  readonly protocol: RemoteProtocol;
  /** Protocol revision of the start, which polls keep to. */
  readonly wire: string;
  readonly taskId: string;
  readonly contextId?: string;
  /** MCP: for how long from its creation the server promised to keep the task. */
  readonly ttlMs?: number;
  /** A2A: the interface of the card over which the task was started. Missing: JSON-RPC. */
  readonly binding?: 'JSONRPC' | 'HTTP+JSON';
  /** A2A: the tenant under which the task was started, if the agent has tenants. */
  readonly tenant?: string;
  /** MCP 2025-11-25: the session in which the task was started, if the server has sessions. */
  readonly session?: string;
  /**
   * MCP: the tool that started a job whose status other tools report; `taskId` is the job's id, and `wire` begins with
   * `jobs-`.
   */
  readonly job?: string;
  /** Set if the id of the job is a number. */
  readonly numericId?: true;
  /** MCP 2026-07-28: the start declared that questions are answered, and each read of the task declares it too. */
  readonly answersQuestions?: true;
  /** A2A: id of the push notification config that was registered with the start. Missing: none was. */
  readonly pushConfigId?: string;
}

/** Policy for a remote task that is no longer waited for. */
export type RemoteClosePolicy = 'cancel' | 'leave';

/** The workflow called a remote task, whose token may exist from now on. The deadline counts from here. */
export type RemoteTaskRequested = At & {
  readonly type: 'RemoteTaskRequested';
  readonly waitId: WaitId;
  readonly server: string;
  /** Tool, skill, or `message`. */
  readonly name: string;
  /** Digest of the whole call with its arguments, which replay compares with the call that the code makes now. */
  readonly digest: string;
  /** The arguments if they are small, for display. */
  readonly input?: JsonValue;
  readonly deadlineAtMs: EpochMs;
  /** Whether followers of the run follow the task too. */
  readonly watch?: boolean;
};
/** The server returned a task. */
export type RemoteTaskStarted = At & {
  readonly type: 'RemoteTaskStarted';
  readonly waitId: WaitId;
  readonly handle: RemoteTaskHandle;
};
/**
 * An attempt to start was certainly not processed, or may be repeated; the next one is due at `retryAtMs`. Also
 * recorded for an attempt that was not made because the server is left alone: `attempt` is then the last one made, or
 * 0.
 */
export type RemoteTaskStartFailed = At & {
  readonly type: 'RemoteTaskStartFailed';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
  readonly retryAtMs: EpochMs;
  /** The attempt was sent without a usable answer: a task may be running. */
  readonly sent?: true;
};
/**
 * An attempt to start was sent, its result is unknown, and it must not be repeated. At `lookAtMs` the server is asked
 * for the `look`-th time whether it has a task from this attempt.
 */
export type RemoteTaskStartLost = At & {
  readonly type: 'RemoteTaskStartLost';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
  /** Number of the search for the task: 1, 2 or 3. */
  readonly look: number;
  readonly lookAtMs: EpochMs;
};
/**
 * A read showed a change of the task, for which the call has a handler. `number` counts the recorded changes of the
 * task, with those that no handler hears of.
 */
export type RemoteTaskProgressed = At & {
  readonly type: 'RemoteTaskProgressed';
  readonly waitId: WaitId;
  readonly number: number;
  readonly shown: TaskProgress;
};
/** The remote task asks a question, or the server asks before it makes a task. */
export type RemoteQuestionAsked = At &
  AskedQuestion & { readonly type: 'RemoteQuestionAsked'; readonly waitId: WaitId };
/** An attempt to start ended with questions, and nothing runs; the next attempt carries the answers. */
export type RemoteTaskStartAsked = At & {
  readonly type: 'RemoteTaskStartAsked';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly round: number;
};
/** The workflow answered a question; the answer may be delivered from now on. */
export type RemoteAnswerRequested = At & {
  readonly type: 'RemoteAnswerRequested';
  readonly waitId: WaitId;
  /** Id of the call's wait. */
  readonly callId: WaitId;
  /** Id of the question within the call. */
  readonly questionId: string;
  readonly answer: RemoteAnswer;
  /** Digest of question and answer. */
  readonly digest: string;
};
export type RemoteAnswerFailed = At & {
  readonly type: 'RemoteAnswerFailed';
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly error: StoredError;
  readonly retryAtMs: EpochMs;
};
/** The server has the answer, or no longer asks. */
export type RemoteAnswerDelivered = At & { readonly type: 'RemoteAnswerDelivered'; readonly waitId: WaitId };
/** The server refused the answer. */
export type RemoteAnswerRefused = At & {
  readonly type: 'RemoteAnswerRefused';
  readonly waitId: WaitId;
  readonly error: StoredError;
};

/** Any event of a remote task. */
export type RemoteTaskEvent =
  | RemoteTaskRequested
  | RemoteTaskStarted
  | RemoteTaskStartFailed
  | RemoteTaskStartLost
  | RemoteTaskProgressed
  | RemoteQuestionAsked
  | RemoteTaskStartAsked
  | RemoteAnswerRequested
  | RemoteAnswerFailed
  | RemoteAnswerDelivered
  | RemoteAnswerRefused;
