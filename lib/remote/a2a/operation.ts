import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import type { PushRegistration } from '../transport.js';
import { taskListPageSize } from './limits.js';

/** Operation on an agent, independent of version and binding. */
export type A2aOperation =
  /** Starts work, or continues the task that `message` names. */
  | {
      readonly kind: 'send';
      readonly message: OutgoingMessage;
      readonly idempotencyKey: string;
      /** W3C trace context of a start. */
      readonly traceparent?: string;
      /** Answered by a stream, of which the first event is read. */
      readonly overStream?: true;
      readonly push?: PushRegistration;
      /** Refused if the task has another generation by now. Only for an agent that has shown one. */
      readonly ifGenerationMatch?: number;
    }
  /**
   * `withHistory`: includes the last messages, if the agent keeps them. `currentGeneration`: the agent may wait until the
   * task has a later one; only for an agent that has shown one.
   */
  | {
      readonly kind: 'get';
      readonly taskId: string;
      readonly withHistory?: true;
      readonly currentGeneration?: number;
    }
  | { readonly kind: 'cancel'; readonly taskId: string }
  /** 1.0 only. Tasks of one context, or a page of all. */
  | {
      readonly kind: 'list';
      readonly contextId?: string;
      readonly status?: string;
      readonly pageToken?: string;
      readonly pageSize?: number;
    }
  | { readonly kind: 'subscribe'; readonly taskId: string }
  | { readonly kind: 'forget_push'; readonly taskId: string; readonly configId: string }
  | { readonly kind: 'extended_card' };

/** Message sent by us; its parts are in the names of 1.0. */
export interface OutgoingMessage {
  /** Message id, the same on every attempt: a server may deduplicate by it (section 3.3.1). */
  readonly messageId: string;
  readonly parts: readonly JsonObject[];
  readonly taskId?: string;
  readonly contextId?: string;
  readonly metadata?: JsonObject;
}

/** `Accept` of a call answered by a stream; JSON may come instead, above all for errors. */
export const eventsOrJson = 'text/event-stream, application/json';
export const acceptedOutputModes: readonly string[] = ['application/json', 'text/plain'];
/** Page size for the tasks of one context, which should hold one. */
export const contextPageSize = 10;
/** Messages read of a task that ended with neither artifacts nor a message: the answer is among the last. */
const answerHistoryLength = 10;
/**
 * Messages that suffice to see the one that started a task: in a context of ours, and in a list where an agent may have
 * said much.
 */
const contextHistoryLength = 5;
const listHistoryLength = 100;

/** Returns how much history a read asks for: none, unless the answer may be in it. */
export function historyLengthOf({ withHistory }: Extract<A2aOperation, { kind: 'get' }>): number {
  return withHistory === true ? answerHistoryLength : 0;
}

/** Returns the parameters of GetTask in JSON-RPC. A generation has 64 bits, which ProtoJSON writes as text. */
export function getParams(get: Extract<A2aOperation, { kind: 'get' }>): Readonly<Record<string, string | number>> {
  const { taskId, currentGeneration } = get;
  return {
    id: taskId,
    historyLength: historyLengthOf(get),
    ...defined({ currentGeneration: currentGeneration?.toString() }),
  };
}

/** Returns the parameters of ListTasks in both bindings. */
export function listParams(list: Extract<A2aOperation, { kind: 'list' }>): Readonly<Record<string, string | number>> {
  const {
    contextId,
    status,
    pageToken,
    pageSize = contextId === undefined ? taskListPageSize : contextPageSize,
  } = list;
  return {
    ...defined({ contextId, status }),
    historyLength: contextId === undefined ? listHistoryLength : contextHistoryLength,
    pageSize,
    ...defined({ pageToken }),
  };
}
