import { storedError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { durationToMs, type Duration, type EpochMs } from '../base/time.js';
import type { RemoteEnd } from '../history/remote-end.js';
import type { RemoteQuestion } from '../history/remote-question.js';

/** What a scripted server does with one call. */
export interface ScriptedTask {
  /** How long the task runs; default: it ends at once, in the reply to the start. */
  readonly after?: Duration;
  /** The result of the task. */
  readonly result?: JsonValue;
  /** MCP: the tool marks its own result as an error. */
  readonly isError?: boolean;
  /** The task fails with this text. */
  readonly failure?: string;
  /** A2A: the agent rejects the task with this text. */
  readonly rejection?: string;
  /** The start is refused with this text. */
  readonly refusal?: string;
  /** The task never ends. */
  readonly never?: boolean;
  /** What the task asks, one after the other; its time runs from the last answer. */
  readonly asks?: readonly ScriptedQuestion[];
  /** What the server asks before it makes a task, one after the other. */
  readonly asksFirst?: readonly ScriptedQuestion[];
  /** What reads say before the end, in the words of the protocol: each from so long after the start on. Default `working`. */
  readonly states?: readonly { readonly from: Duration; readonly state: string }[];
  /** Reads do not find the task before so long after the start, as behind a replica that lags; nor does who looks for it, nor a cancel. */
  readonly knownFrom?: Duration;
  /** Reads do not find the task from so long after the start on: the server has forgotten it. */
  readonly goneAfter?: Duration;
  /** For how long the server promises to keep the task. */
  readonly ttl?: Duration;
  /** So many reads, the first ones, get no answer. */
  readonly failingReads?: number;
  /** The reads are answered with more than can be stored. */
  readonly tooLarge?: boolean;
  /** So many starts, the first ones, get no answer; the task is made all the same. */
  readonly lostReplies?: number;
  /** The start is answered only after so long; without it, at once. Nobody waits for longer than a start may take. */
  readonly answersAfter?: Duration;
  /** The server does not cancel the task. */
  readonly refusesCancel?: boolean;
}

export type ScriptedQuestion = Partial<Omit<RemoteQuestion, 'key'>> & Pick<RemoteQuestion, 'message'>;

/** A task of a scripted server that has begun. */
export interface Task {
  readonly taskId: string;
  readonly key: string;
  readonly end: RemoteEnd;
  readonly script: ScriptedTask;
  /** Questions that have been answered. */
  answered: number;
  readonly startedAtMs: EpochMs;
  endsAtMs: EpochMs | undefined;
  cancelled: boolean;
  reads: number;
}

/** The question that the task asks now. */
export function openQuestion({ script, answered }: Task): RemoteQuestion | undefined {
  const question = script.asks?.[answered];
  return question === undefined ? undefined : { kind: 'form', ...question, key: `question-${answered + 1}` };
}

/** When the task ends, if it begins, or has its last answer, now. */
export function endOf({ after, never }: ScriptedTask, nowMs: EpochMs): EpochMs | undefined {
  if (never === true) return undefined;
  return nowMs + (after === undefined ? 0 : durationToMs(after, 'after'));
}

export function isOver({ endsAtMs }: Task, nowMs: EpochMs): boolean {
  return endsAtMs !== undefined && endsAtMs <= nowMs;
}

/** False while the server does not find the task yet, or any more. */
export function isKnown({ script: { knownFrom, goneAfter }, startedAtMs }: Task, nowMs: EpochMs): boolean {
  const ageMs = nowMs - startedAtMs;
  return (
    (knownFrom === undefined || ageMs >= durationToMs(knownFrom, 'knownFrom')) &&
    (goneAfter === undefined || ageMs < durationToMs(goneAfter, 'goneAfter'))
  );
}

/** What a read says before the end. */
export function stateOf({ script: { states = [] }, startedAtMs }: Task, nowMs: EpochMs): string {
  const ageMs = nowMs - startedAtMs;
  return states.findLast(({ from }) => durationToMs(from, 'from') <= ageMs)?.state ?? 'working';
}

/** How the task will have ended. */
export function toEnd(script: ScriptedTask, task: { readonly server: string; readonly taskId: string }): RemoteEnd {
  const failed = (code: 'REMOTE_TASK_REJECTED' | 'REMOTE_TASK_FAILED', text: string): RemoteEnd => ({
    kind: 'failed',
    error: storedError(code, `remote task failed: ${text}`, task),
  });
  if (script.rejection !== undefined) return failed('REMOTE_TASK_REJECTED', script.rejection);
  if (script.failure !== undefined) return failed('REMOTE_TASK_FAILED', script.failure);
  const { taskId } = task;
  return { kind: 'completed', result: script.result ?? null, isError: script.isError ?? false, taskId };
}
