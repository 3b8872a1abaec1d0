import type { StoredError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';

/** What the remote made of a task, where it ended: MCP the tool result object, A2A the whole task or message in 1.0 names. */
export type RemoteEnd =
  | { readonly kind: 'completed'; readonly result: JsonValue; readonly isError: boolean; readonly taskId?: string }
  | { readonly kind: 'failed'; readonly error: StoredError };
