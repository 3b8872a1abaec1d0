import type { JsonObject } from '../../base/json.js';

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
  /** 1.0 only. */
  | { readonly kind: 'list'; readonly contextId: string }
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
export const listPageSize = 10;
/** Of a task that ended with neither artifacts nor a message: the answer is among the last that were said. */
const answerHistoryLength = 10;
/** Enough to see the message that started a task. */
export const listHistoryLength = 5;

/** A read costs no history, unless the answer may be in it. */
export function historyLengthOf({ withHistory }: Extract<A2aOperation, { kind: 'get' }>): number {
  return withHistory === true ? answerHistoryLength : 0;
}
