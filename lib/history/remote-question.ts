import type { JsonObject, JsonValue } from '../base/json.js';

/** A question of a remote task. Untrusted: it is shown and answered, never followed. */
export interface RemoteQuestion {
  /** Unique within the task: MCP the key of the input request, A2A the id of the message that asks. */
  readonly key: string;
  /**
   * `form`: asks for a value; `url`: a person must open a page, which we never fetch; `auth`: waits for consent given
   * elsewhere.
   */
  readonly kind: 'form' | 'url' | 'auth';
  /** Text of the question, cut at 4 KiB. */
  readonly message: string;
  /** JSON Schema of the answer, if the server sent one. */
  readonly schema?: JsonObject;
  readonly url?: string;
  /** A2A: the parts of the message that asks. */
  readonly parts?: readonly JsonValue[];
}

/** A question in a history; `round` counts the rounds before there was a task. */
export interface AskedQuestion {
  readonly question: RemoteQuestion;
  readonly round?: number;
}

/** Returns the permanent id of a question within its call. */
export function questionIdOf({ question, round }: AskedQuestion): string {
  return round === undefined ? question.key : `start ${round} ${question.key}`;
}

/**
 * An answer: MCP the result of the elicitation; A2A sends the content of an accepted answer as the parts of a message.
 */
export type RemoteAnswer =
  { readonly action: 'accept'; readonly content?: JsonValue } | { readonly action: 'decline' | 'cancel' };
