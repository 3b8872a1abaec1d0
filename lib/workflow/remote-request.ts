import type { JsonObject, JsonValue } from '../base/json.js';

/** What is asked of a remote server. MCP: a tool. A2A: a skill with arguments, or a message with parts of one's own. */
export type RemoteRequest =
  | { readonly kind: 'tool'; readonly tool: string; readonly arguments: JsonObject }
  | { readonly kind: 'skill'; readonly skill: string; readonly arguments: JsonValue }
  | { readonly kind: 'message'; readonly parts: readonly JsonObject[] };

/** A task that somebody else has started, to be waited for. */
export type AttachRequest = { readonly kind: 'attach'; readonly taskId: string; readonly contextId?: string };
