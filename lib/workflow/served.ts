import type { JsonObject, JsonValue } from '../base/json.js';
import type { Part, TaskMessage } from '../history/task-content.js';

/** The task as which the run is served: `ctx.task`. Fixed at the start. */
export interface TaskInfo {
  /** Id of the task: of this run, or of the first of the runs that continue one another. */
  readonly taskId: string;
  /** Groups the tasks of one conversation. */
  readonly contextId: string;
  /** Id of the message that started the task. */
  readonly messageId: string;
  /** Metadata of the request that started the task. */
  readonly metadata?: JsonObject;
}

/** Who started the run, as told by the credential alone: `ctx.caller`. */
export interface RunCaller {
  readonly id: string;
  readonly tenant?: string;
}

/** An artifact of a served task, or more of one. Its content is one of `text`, `data` and `parts`. */
export type ArtifactUpdate = {
  /** Identifies the artifact within the task: 1 to 128 characters. */
  readonly artifactId: string;
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: JsonObject;
  /** Whether to add the parts to those that the artifact has. Default false: they replace them. */
  readonly append?: boolean;
  /** Whether the artifact is complete. Default false. */
  readonly lastChunk?: boolean;
} & (
  | { readonly text: string; readonly data?: never; readonly parts?: never }
  | { readonly data: JsonValue; readonly text?: never; readonly parts?: never }
  | { readonly parts: readonly Part[]; readonly text?: never; readonly data?: never }
);

/** What only a served workflow has. In a run that is not served, it has no effect and nothing comes. */
export interface ServedContext {
  /** The task as which the run is served; undefined if it is not. */
  readonly task?: TaskInfo;
  /** The caller who started the run or its first ancestor; undefined if it was none with a name. */
  readonly caller?: RunCaller;
  /**
   * Shows the caller an artifact, or more of one. At most 64 KiB.
   * @throws EngineError `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`
   */
  artifact(update: ArtifactUpdate): void;
  /**
   * Returns the further messages of the caller, oldest first; each is read once. It never ends: leave the loop by
   * `break`, or race it.
   * @example
   * ```ts
   * import { defineWorkflow } from 'outwait';
   *
   * export const chat = defineWorkflow({
   *   name: 'chat',
   *   run: async (ctx) => {
   *     for await (const { messageId } of ctx.messages()) ctx.progress(`read ${messageId}`);
   *   },
   * });
   * ```
   */
  messages(): AsyncIterable<TaskMessage>;
  /** Ends the run as failed, and its task as rejected: the caller is told the reason. Never returns. */
  reject(reason: string): never;
}
