import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { ParentClosePolicy, RemoteClosePolicy } from '../history/event.js';
import type { Question } from '../history/question.js';
import type { RemoteAnswer } from '../history/remote-question.js';
import type { StepContext } from '../workflow/step-options.js';
import type { AttachRequest, RemoteRequest } from '../workflow/remote-request.js';

export interface StepPolicy {
  readonly maxAttempts: number;
  readonly initialIntervalMs: number;
  readonly maxIntervalMs: number;
  /** Part of each interval that is left to chance, 0 to 1. */
  readonly jitter: number;
  /** True: the step runs in a worker of its own. */
  readonly long: boolean;
  /** Longest time of one attempt. */
  readonly timeoutMs: number;
  /** Longest time of an attempt without a report. */
  readonly heartbeatTimeoutMs?: number;
  /** From the request on, all attempts and the waits between them. */
  readonly deadlineMs?: number;
  readonly atMostOnce: boolean;
  readonly isRetryable: (error: unknown) => boolean;
}

export interface RunStep {
  readonly kind: 'runStep';
  readonly waitId: WaitId;
  readonly name: string;
  readonly work: (step: StepContext) => unknown;
  readonly policy: StepPolicy;
}
export interface StartTimer {
  readonly kind: 'startTimer';
  readonly waitId: WaitId;
  /** From now, or a fixed instant. */
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
  /** Digest of the server, the request and everything else that makes it another call. */
  readonly digest: string;
  /** The arguments where they are small. */
  readonly input?: JsonValue;
  readonly timeoutMs: number;
  readonly retrySafe: boolean;
  /** The author's idempotency key, in place of one made of run and wait. */
  readonly key?: string;
  /** When the run ends or the wait is closed, and when the deadline passes, before the task has ended. */
  readonly onCancel: RemoteClosePolicy;
  readonly onTimeout: RemoteClosePolicy;
  /** The call answers what the server asks. */
  readonly answersQuestions: boolean;
  /** True: a follower of the run follows the task too. */
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
  readonly form?: Question;
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

/** What a workflow asks for. It takes effect when the commit that records it is in the log. */
export type Command = RunStep | StartTimer | WaitForSignal | StartRemoteTask | AnswerRemote | IssueToken | StartChild;
