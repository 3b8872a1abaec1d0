import { defined } from '../base/defined.js';
import { storedError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { durationToMs, type Duration, type EpochMs } from '../base/time.js';
import type { RemoteEnd } from '../history/remote-end.js';
import type { SaidOfTask } from '../history/task-trail.js';
import type { RemoteQuestion } from '../history/remote-question.js';

/** The script of one call to a scripted server. */
export interface ScriptedTask {
  /** How long the task runs. Default: it ends at once, in the reply to the start. */
  readonly after?: Duration;
  /** The result of the task. */
  readonly result?: JsonValue;
  /** MCP: whether the tool marks its own result as an error. */
  readonly isError?: boolean;
  /** The task fails with this message. */
  readonly failure?: string;
  /** A2A: the agent rejects the task with this message. */
  readonly rejection?: string;
  /** The start is refused with this message. */
  readonly refusal?: string;
  /** The task never ends. */
  readonly never?: boolean;
  /** Questions that the task asks, one after the other; its time runs from the last answer. */
  readonly asks?: readonly ScriptedQuestion[];
  /** Questions that the server asks before it creates a task, one after the other. */
  readonly asksFirst?: readonly ScriptedQuestion[];
  /**
   * States that reads return before the end, in the protocol's words, each from a time after the start. Default
   * `working`.
   */
  readonly states?: readonly ScriptedState[];
  /** Time after the start until which reads, searches and cancels do not find the task, as with a lagging replica. */
  readonly knownFrom?: Duration;
  /** Time after the start from which the task is not found: the server has forgotten it. */
  readonly goneAfter?: Duration;
  /** How long the server promises to keep the task. */
  readonly ttl?: Duration;
  /** Number of reads that get no answer, from the first. */
  readonly failingReads?: number;
  /** Whether the replies to reads are too large to be stored. */
  readonly tooLarge?: boolean;
  /** Number of starts that get no answer, from the first; the task is created nevertheless. */
  readonly lostReplies?: number;
  /** Time until the start is answered. Default: at once. The engine waits no longer than a start may take. */
  readonly answersAfter?: Duration;
  /** Whether the server refuses to cancel the task. */
  readonly refusesCancel?: boolean;
}

/** A state in a script, from a time after the start, with what the server says of its progress. */
export interface ScriptedState {
  readonly from: Duration;
  readonly state: string;
  readonly message?: string;
  readonly progress?: number;
  readonly total?: number;
}

/** A question in a script; the server sets its key. */
export type ScriptedQuestion = Partial<Omit<RemoteQuestion, 'key'>> & Pick<RemoteQuestion, 'message'>;

/** A begun task of a scripted server. */
export interface Task {
  readonly taskId: string;
  readonly key: string;
  readonly end: RemoteEnd;
  readonly script: ScriptedTask;
  /** Number of answered questions. */
  answered: number;
  readonly startedAtMs: EpochMs;
  endsAtMs: EpochMs | undefined;
  cancelled: boolean;
  reads: number;
}

/** Returns the question that the task asks now. */
export function openQuestion({ script, answered }: Task): RemoteQuestion | undefined {
  const question = script.asks?.[answered];
  return question === undefined ? undefined : { kind: 'form', ...question, key: `question-${answered + 1}` };
}

/** Returns when the task ends if it begins now, or receives its last answer now. */
export function endOf({ after, never }: ScriptedTask, nowMs: EpochMs): EpochMs | undefined {
  if (never === true) return undefined;
  return nowMs + (after === undefined ? 0 : durationToMs(after, 'after'));
}

export function isOver({ endsAtMs }: Task, nowMs: EpochMs): boolean {
  return endsAtMs !== undefined && endsAtMs <= nowMs;
}

/** Returns false if the server does not find the task yet, or no longer finds it. */
export function isKnown({ script: { knownFrom, goneAfter }, startedAtMs }: Task, nowMs: EpochMs): boolean {
  const ageMs = nowMs - startedAtMs;
  return (
    (knownFrom === undefined || ageMs >= durationToMs(knownFrom, 'knownFrom')) &&
    (goneAfter === undefined || ageMs < durationToMs(goneAfter, 'goneAfter'))
  );
}

/** Returns what the server says of a running task, as a read returns it. */
export function shownOf(task: Task, nowMs: EpochMs): SaidOfTask {
  const ageMs = nowMs - task.startedAtMs;
  const shown = task.script.states?.findLast(({ from }) => durationToMs(from, 'from') <= ageMs);
  if (openQuestion(task) !== undefined) return { state: 'input_required' };
  if (shown === undefined) return { state: 'working' };
  const { state, message: note, progress, total } = shown;
  return { state, ...defined({ note, progress, total }) };
}

/** Returns how the task ends. */
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
