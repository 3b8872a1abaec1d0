// What callers and served workflows exchange, as it is recorded: in the field names of A2A 1.0.

import type { RunId } from '../base/ids.js';
import type { JsonObject, JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';

/** Content of a message or an artifact. `raw` is base64. */
export type Part = { readonly mediaType?: string; readonly metadata?: JsonObject } & (
  | { readonly text: string }
  | { readonly data: JsonValue }
  | { readonly raw: string; readonly filename?: string }
  | { readonly url: string; readonly filename?: string }
);

/** A message of the caller (`user`) or of the workflow (`agent`). Its id is unique within the task. */
export interface TaskMessage {
  readonly messageId: string;
  readonly role: 'user' | 'agent';
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
}

/** Name under which the messages of a caller are signals to the workflow's code. A signal that is sent cannot have it. */
export const messageSignal = 'ctx.messages';

/** An output of a task. The last one of a completed task, `result`, is what the workflow returned. */
export interface Artifact {
  /** Unique within the task. */
  readonly artifactId: string;
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
}

/** The task as which a run is served, as of its start. */
export interface TaskOfRun {
  /** The first of the runs that continue one another, unless it is this one. */
  readonly firstRunId?: RunId;
  readonly contextId: string;
  /** The message that started the task; its parts are missing if they are only the input. */
  readonly message: Pick<TaskMessage, 'messageId' | 'metadata'> & Partial<Pick<TaskMessage, 'parts'>>;
  /** Metadata of the request. */
  readonly metadata?: JsonObject;
  /** Generation with which this run begins: what the callers of the runs before it have seen. */
  readonly generation: number;
}

/** State of a served task. The last four are final: such a task never changes again. */
export type TaskState =
  'submitted' | 'working' | 'input-required' | 'auth-required' | 'completed' | 'failed' | 'canceled' | 'rejected';

/** What the head of a task says of its status, for lists; possibly older than the log. */
export interface TaskHint {
  readonly state: TaskState;
  readonly atMs: EpochMs;
}
