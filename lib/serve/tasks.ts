import type { JsonObject } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { NewPushConfig } from './push-configs.js';
import type { PageContents } from './task/fitted.js';
import type { ServedTask, TaskEvent, TaskMessage, TaskState } from './task/served-task.js';

/** A message of a caller: it starts a task, answers the question of one, or is one more message to it. */
export interface SendRequest {
  readonly message: TaskMessage;
  /** The skill that the endpoint or the message names. Default: the workflow of `serve.onMessage`. */
  readonly skill?: string;
  /** Arguments of the skill, if the message names one. */
  readonly arguments?: JsonObject;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly metadata?: JsonObject;
  /** Starts of one caller with the same key are one task. Default: each start makes a task. */
  readonly key?: string;
  /** The answer is refused unless the task has this generation: it names the question that its sender has seen. */
  readonly ifGenerationMatch?: number;
  /** Key of the question that is answered. Default: the oldest open one. @see OpenQuestion */
  readonly answers?: string;
  /** Where news of the task are pushed to, from its start on. Given only where there are `PushConfigs`. */
  readonly push?: NewPushConfig;
  /** W3C trace context of the caller. */
  readonly traceparent?: string;
}

/** Which tasks of the caller to list, newest status first. */
export interface ListRequest {
  readonly skill?: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  readonly statusAfterMs?: EpochMs;
  readonly pageSize: number;
  readonly pageToken?: string;
  /** What is shown of each task beside its status. Default: everything. */
  readonly contents?: PageContents;
}

export interface TaskPage {
  readonly tasks: readonly ServedTask[];
  readonly nextPageToken?: string;
  readonly totalSize: number;
}

/** What a subscriber is sent: the task as it is, then each change after it, exactly once and in order. */
export type Followed = { readonly kind: 'snapshot'; readonly task: ServedTask } | TaskEvent;

/** How long to wait at most. A long wait ends at once where as many streams and waits are open as there may be. */
export interface Until {
  readonly untilMs: EpochMs;
  readonly signal?: AbortSignal;
  /** Whether who waits is a stream, which has its place. Default false. */
  readonly isInStream?: boolean;
}

export interface Wait extends Until {
  /** What ends the wait. Default: the task asks its caller. */
  readonly until?: (task: ServedTask) => boolean;
}

export interface FollowOptions {
  readonly afterGeneration?: number;
  readonly untilMs?: EpochMs;
  readonly signal: AbortSignal;
}

/**
 * The tasks of one caller, as doors use them. A task of another caller is not found, like one that does not exist.
 * @throws EngineError `TASK_NOT_FOUND`; others as said of each
 */
export interface Tasks {
  /**
   * Takes a message. The task of the answer can be read from every replica. With `until`, the reply to the answer of a
   * question waits for the workflow to take it in: before that, the task shows the question that has been answered.
   * @throws EngineError `SKILL_NOT_FOUND`, `INPUT_INVALID` (details.issues), `PAYLOAD_TOO_LARGE`, `KEY_REUSED`,
   * `TASK_ENDED`, `QUESTION_CLOSED`, `TOO_MANY_REQUESTS` (retryAfterMs)
   */
  send(request: SendRequest, until?: Until): Promise<ServedTask>;
  read(taskId: string): Promise<ServedTask>;
  /** @throws EngineError `INPUT_INVALID` for a page token that is not one */
  list(request: ListRequest): Promise<TaskPage>;
  /**
   * Requests the cancel, and waits for it up to `waitMs` (default 2 s).
   * @throws EngineError `TASK_ENDED` unless it ended as canceled
   */
  cancel(taskId: string, options?: { readonly waitMs?: number }): Promise<ServedTask>;
  /** Waits until the task is final or as `until` says, at most until `untilMs`; then returns it as it is. */
  waitFor(taskId: string, wait: Wait): Promise<ServedTask>;
  /**
   * Follows a task to its end; ends early when `signal` aborts. `afterGeneration`: no snapshot, only what came after, also
   * of a task that is final. `untilMs`: it is followed like in a wait, and not by a stream that has its place.
   * @throws EngineError `TASK_ENDED` before the first event, if the task is final and there is nothing to send
   */
  follow(taskId: string, options: FollowOptions): AsyncIterable<Followed>;
}
