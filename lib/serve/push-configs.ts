/** Where news of a task are pushed to, as its caller asks for it. */
export interface NewPushConfig {
  /** Unique within the task. Default: a new one is made. */
  readonly id?: string;
  readonly url: string;
  /** Sent back in a header of each push. */
  readonly token?: string;
  /** What the receiver wants as `Authorization`. */
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
  /** Revision of A2A in which the pushes are written: the one in which they were asked for. */
  readonly wire: '1.0' | '0.3';
}

/** A config as it is shown: without its secrets, which are never read back. */
export type PushConfig = Omit<NewPushConfig, 'id' | 'token'> & { readonly id: string };

export interface PushConfigPage {
  readonly configs: readonly PushConfig[];
  readonly nextPageToken?: string;
}

/**
 * The push configs of the tasks of one caller.
 * @throws EngineError `TASK_NOT_FOUND` for a task that is not of the caller
 */
export interface PushConfigs {
  /** Replaces the config with the same id. @throws EngineError `INPUT_INVALID` for a URL that is not pushed to */
  set(taskId: string, config: NewPushConfig): Promise<PushConfig>;
  /** @throws EngineError `TASK_NOT_FOUND` if the task has no such config. Default of `id`: the oldest one */
  read(taskId: string, id?: string): Promise<PushConfig>;
  /** @throws EngineError `INPUT_INVALID` for a page token that is not one */
  list(taskId: string, page: { readonly pageSize: number; readonly pageToken?: string }): Promise<PushConfigPage>;
  /** Deletes the config, if there is one, and what is queued for it. */
  remove(taskId: string, id: string): Promise<void>;
}
