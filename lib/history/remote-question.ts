import type { JsonObject, JsonValue } from '../base/json.js';

/** What a remote task wants to know before it goes on. Untrusted: it is shown and answered, never followed. */
export interface RemoteQuestion {
  /** Unique among the questions of its task: MCP the key of the input request, A2A the id of the message that asks. */
  readonly key: string;
  /** `form`: a value; `url`: somebody should open a page, which we never fetch; `auth`: the task waits for a consent given elsewhere. */
  readonly kind: 'form' | 'url' | 'auth';
  /** Cut at 4 KiB. */
  readonly message: string;
  /** JSON Schema of the answer, if the server gives one. */
  readonly schema?: JsonObject;
  readonly url?: string;
  /** A2A: the parts of the message that asks. */
  readonly parts?: readonly JsonValue[];
}

/** A question in a history; `round` counts those that came before there was a task. */
export interface AskedQuestion {
  readonly question: RemoteQuestion;
  readonly round?: number;
}

/** Names one question of one call for good. */
export function questionIdOf({ question, round }: AskedQuestion): string {
  return round === undefined ? question.key : `start ${round} ${question.key}`;
}

/** MCP elicitation result; A2A sends the content of an accepted one as the parts of a message. */
export type RemoteAnswer =
  { readonly action: 'accept'; readonly content?: JsonValue } | { readonly action: 'decline' | 'cancel' };
