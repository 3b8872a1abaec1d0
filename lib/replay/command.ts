import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { ParentClosePolicy, RemoteClosePolicy } from '../history/event.js';
import type { AddressedQuestion } from '../history/question.js';
import type { RemoteAnswer } from '../history/remote-question.js';
import type { RunStartOptions } from '../workflow/run-start-options.js';
import type { StepContext } from '../workflow/step-options.js';
import type { AttachRequest, RemoteRequest } from '../workflow/remote-request.js';

/** Options of a step with their defaults. */
export interface StepPolicy {
  readonly maxAttempts: number;
  readonly initialIntervalMs: number;
  readonly maxIntervalMs: number;
  /** Fraction of each interval that is random, 0 to 1. */
  readonly jitter: number;
  /** Whether the step runs in a separate worker. */
  readonly long: boolean;
  /** Longest time of one attempt. */
  readonly timeoutMs: number;
  /** Longest time of an attempt without a report. */
  readonly heartbeatTimeoutMs?: number;
  /** Longest time from the request to the end, including all attempts and intervals. */
  readonly deadlineMs?: number;
  readonly atMostOnce: boolean;
  readonly isRetryable: (error: unknown) => boolean;
}

export interface RunStep {
  readonly kind: 'runStep';
  readonly waitId: WaitId;
  readonly name: string;
  readonly work: (step: StepContext) => unknown;
  /** What the engine does in place of `work`. */
  readonly deed?: RunDeed;
  readonly policy: StepPolicy;
}
/** A request to another run of the app, carried out as a step of the engine's own. */
export type RunDeed =
  | {
      readonly kind: 'startRun';
      readonly workflow: string;
      readonly input: JsonValue | undefined;
      readonly options: Omit<RunStartOptions, 'delay' | 'timeout'> & {
        readonly delayMs?: number;
        readonly timeoutMs?: number;
      };
    }
  | { readonly kind: 'signalRun'; readonly runId: RunId; readonly name: string; readonly payload?: JsonValue };
export interface StartTimer {
  readonly kind: 'startTimer';
  readonly waitId: WaitId;
  /** A duration from now, or a fixed instant. */
  readonly until: { readonly durationMs: number } | { readonly atMs: number };
}
export interface WaitForSignal {
  readonly kind: 'waitForSignal';
  readonly waitId: WaitId;
  readonly name: string;
  readonly timeoutMs?: number;
}
export interface StartRemoteTask {
  readonly kind: 'startRemoteTask';
  readonly waitId: WaitId;
  readonly server: string;
  /** Tool, skill, `message` or `attach`. */
  readonly name: string;
  readonly request: RemoteRequest | AttachRequest;
  /** Digest of the server, the request and everything else that identifies the call. */
  readonly digest: string;
  /** The arguments, if they are small. */
  readonly input?: JsonValue;
  readonly timeoutMs: number;
  readonly retrySafe: boolean;
  /** The author's idempotency key, instead of one derived from run and wait. */
  readonly key?: string;
  /** Policy for the task if the run ends or the wait is closed before its end. */
  readonly onCancel: RemoteClosePolicy;
  /** Policy for the task if the deadline passes before its end. */
  readonly onTimeout: RemoteClosePolicy;
  /** Whether the call answers questions of the server. */
  readonly answersQuestions: boolean;
  /** Whether the call has a handler for the progress of the task. */
  readonly followsProgress?: boolean;
  /** Whether the progress of the task is shown while the run is watched. */
  readonly watch: boolean;
}
/** Sends an answer to the remote task of another wait. */
export interface AnswerRemote {
  readonly kind: 'answerRemote';
  readonly waitId: WaitId;
  /** The wait of the call. */
  readonly callId: WaitId;
  readonly questionId: string;
  readonly answer: RemoteAnswer;
  /** Digest of question and answer. */
  readonly digest: string;
}
export interface IssueToken {
  readonly kind: 'issueToken';
  readonly waitId: WaitId;
  readonly name: string;
  readonly form?: AddressedQuestion;
  readonly timeoutMs?: number;
}
export interface StartChild {
  readonly kind: 'startChild';
  readonly waitId: WaitId;
  readonly workflow: string;
  readonly input: JsonValue | undefined;
  readonly digest: string;
  readonly childRunId: RunId;
  readonly parentClose: ParentClosePolicy;
  readonly timeoutMs?: number;
}

/** A request of the workflow. It takes effect once the commit that records it is in the log. */
export type Command = RunStep | StartTimer | WaitForSignal | StartRemoteTask | AnswerRemote | IssueToken | StartChild;
