import type { JsonObject, JsonValue } from '../base/json.js';

/**
 * A request to a remote server. MCP: a tool call. A2A: a skill with arguments, or a message with the author's own
 * parts.
 */
export type RemoteRequest =
  | { readonly kind: 'tool'; readonly tool: string; readonly arguments: JsonObject }
  | { readonly kind: 'skill'; readonly skill: string; readonly arguments: JsonValue }
  | { readonly kind: 'message'; readonly parts: readonly JsonObject[] };

/** A task to wait for that was started elsewhere. */
export type AttachRequest = { readonly kind: 'attach'; readonly taskId: string; readonly contextId?: string };
