import type { ServedTask } from '../task/served-task.js';
import type { OpenedStream } from '../open-streams.js';
import type { NewPushConfig, PushConfig } from '../push-configs.js';
import type { Followed, ListRequest, SendRequest, TaskPage } from '../tasks.js';
import type { JsonObject } from '../../base/json.js';

/** What a client asks for, in the same form for both revisions and bindings. */
export type Operation =
  | SendOperation
  | {
      readonly kind: 'get';
      readonly taskId: string;
      readonly historyLength: number;
      /** The client has seen this generation, and waits for a later one. */
      readonly afterGeneration?: number;
    }
  | ListOperation
  | { readonly kind: 'cancel'; readonly taskId: string }
  | { readonly kind: 'subscribe'; readonly taskId: string; readonly afterGeneration?: number }
  | { readonly kind: 'set_push'; readonly taskId: string; readonly config: NewPushConfig }
  | { readonly kind: 'read_push'; readonly taskId: string; readonly id?: string }
  | { readonly kind: 'list_pushes'; readonly taskId: string; readonly pageSize: number; readonly pageToken?: string }
  | { readonly kind: 'remove_push'; readonly taskId: string; readonly id: string }
  | { readonly kind: 'extended_card' };

export interface SendOperation {
  readonly kind: 'send';
  readonly request: SendRequest;
  /** How the client wants to hear of the task: at once, when it rests or at the door's limit, or by a stream. */
  readonly until: 'accepted' | 'rests' | 'streamed';
  readonly historyLength: number;
}

export interface ListOperation {
  readonly kind: 'list';
  readonly request: ListRequest;
  readonly historyLength: number;
  readonly includeArtifacts: boolean;
}

/** What is sent back. */
export type Answer =
  /** `wasSent`: in answer to a message. */
  | { readonly kind: 'task'; readonly task: ServedTask; readonly historyLength: number; readonly wasSent: boolean }
  | { readonly kind: 'page'; readonly page: TaskPage; readonly asked: ListOperation }
  | { readonly kind: 'push'; readonly taskId: string; readonly config: PushConfig }
  | {
      readonly kind: 'pushes';
      readonly taskId: string;
      readonly configs: readonly PushConfig[];
      readonly nextPageToken?: string;
    }
  | { readonly kind: 'removed' }
  | { readonly kind: 'card'; readonly card: JsonObject }
  | StreamAnswer;

export interface StreamAnswer {
  readonly kind: 'stream';
  readonly events: AsyncIterator<StreamEvent, undefined>;
  /** The place of the stream among those that may be open, to be left at its end. */
  readonly place?: OpenedStream;
}

/** An event as it is streamed. */
export interface StreamEvent {
  readonly followed: Followed;
  readonly taskId: string;
  readonly contextId: string;
  /** Whether the stream ends after it. */
  readonly isLast: boolean;
  readonly historyLength: number;
}
