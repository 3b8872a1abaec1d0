// What callers see of a served workflow: a task, in the words of A2A. MCP says the same with fewer states.

import type { JsonObject } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { Artifact, TaskMessage, TaskState } from '../../history/task-content.js';

export type * from '../../history/task-content.js';

export interface TaskStatus {
  readonly state: TaskState;
  readonly atMs: EpochMs;
  /** What the workflow says of it: its progress, its question, why it failed. */
  readonly message?: TaskMessage;
}

/** A change of a task that its caller can see. Each has the next generation. */
export type TaskEvent = { readonly generation: number } & (
  | { readonly kind: 'status'; readonly status: TaskStatus }
  | {
      readonly kind: 'artifact';
      readonly artifact: Artifact;
      /** Whether its parts are added to those of the artifact with the same id, which they replace otherwise. */
      readonly append: boolean;
      readonly lastChunk: boolean;
    }
);

/** An open question to the caller. */
export interface OpenQuestion {
  /** Id of the message that asks: unique among all questions that the task ever has. */
  readonly key: string;
  /** What the workflow calls it; other questions may have the same name. */
  readonly name: string;
  /** `form`: a value is asked for; `auth`: credentials, which are given elsewhere. */
  readonly kind: 'form' | 'auth';
  readonly message: string;
  /** JSON Schema of the content of an accepted answer. */
  readonly schema?: JsonObject;
  /** A page for a person to open. */
  readonly url?: string;
}

/** A task as of one generation. */
export interface ServedTask {
  /** Id of the run, or of the first of the runs that continue one another. */
  readonly taskId: string;
  readonly contextId: string;
  /** Name of the workflow. */
  readonly skill: string;
  readonly createdAtMs: EpochMs;
  readonly status: TaskStatus;
  /** The open questions to the caller, oldest first; missing if there are none. */
  readonly questions?: readonly OpenQuestion[];
  /** Whether the task failed by a fault of the engine, not by an error of its workflow. */
  readonly isFault?: true;
  /** Messages of both sides, oldest first. The message of the status is not among them. */
  readonly history: readonly TaskMessage[];
  readonly artifacts: readonly Artifact[];
  /** 1 when the task is made, and 1 more with each event. */
  readonly generation: number;
  readonly metadata?: JsonObject;
}

export function isFinal(state: TaskState): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected';
}
