import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import { taskListPageSize } from './limits.js';

/** What is asked of an agent, whatever it speaks. */
export type A2aOperation =
  /** Starts work, or goes on with the task that `message` names. */
  | {
      readonly kind: 'send';
      readonly message: OutgoingMessage;
      readonly idempotencyKey: string;
      /** Answered by a stream, of which the first event is read. */
      readonly overStream?: true;
    }
  /** `withHistory`: with the last messages, where the agent keeps them. */
  | { readonly kind: 'get'; readonly taskId: string; readonly withHistory?: true }
  | { readonly kind: 'cancel'; readonly taskId: string }
  /** 1.0 only. Of one context, or a page of all. */
  | {
      readonly kind: 'list';
      readonly contextId?: string;
      readonly status?: string;
      readonly pageToken?: string;
      readonly pageSize?: number;
    }
  | { readonly kind: 'subscribe'; readonly taskId: string }
  | { readonly kind: 'extended_card' };

/** A message of ours; the parts are in the names of 1.0. */
export interface OutgoingMessage {
  /** The same on every attempt: a server may dedupe by it (section 3.3.1). */
  readonly messageId: string;
  readonly parts: readonly JsonObject[];
  readonly taskId?: string;
  readonly contextId?: string;
}

/** Of a call that is to be answered by a stream: what comes in its place may be JSON, an error above all. */
export const eventsOrJson = 'text/event-stream, application/json';
export const acceptedOutputModes: readonly string[] = ['application/json', 'text/plain'];
/** Of a list of the tasks of one context that should hold one. */
export const contextPageSize = 10;
/** Of a task that ended with neither artifacts nor a message: the answer is among the last that were said. */
const answerHistoryLength = 10;
/** Enough to see the message that started a task: of a context that is ours, or of one that an agent may have said much in. */
const contextHistoryLength = 5;
const listHistoryLength = 100;

/** A read costs no history, unless the answer may be in it. */
export function historyLengthOf({ withHistory }: Extract<A2aOperation, { kind: 'get' }>): number {
  return withHistory === true ? answerHistoryLength : 0;
}

/** Parameters of ListTasks in both bindings. */
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
