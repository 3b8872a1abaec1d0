import type { StoredError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';

/**
 * The end of a remote task. Its result: MCP the tool result object, A2A the whole task or message in the names of 1.0.
 */
export type RemoteEnd =
  | { readonly kind: 'completed'; readonly result: JsonValue; readonly isError: boolean; readonly taskId?: string }
  | { readonly kind: 'failed'; readonly error: StoredError };

/** Reads of a task in a row that suggest that it will never end. */
export interface BadReads {
  /** `missing`: the server does not know the task. `unfit`: its reply is too large to be read or stored. */
  readonly of: 'missing' | 'unfit';
  readonly count: number;
  /** When the last counted read was. */
  readonly atMs: EpochMs;
}
