import type { StoredError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';

/** What the remote made of a task, where it ended: MCP the tool result object, A2A the whole task or message in 1.0 names. */
export type RemoteEnd =
  | { readonly kind: 'completed'; readonly result: JsonValue; readonly isError: boolean; readonly taskId?: string }
  | { readonly kind: 'failed'; readonly error: StoredError };

/** What reads of a task have said in a row that speaks against its ever ending. */
export interface BadReads {
  /** `missing`: the server knows no such task. `unfit`: its reply is larger than anything that can be stored. */
  readonly of: 'missing' | 'unfit';
  readonly count: number;
  /** When the last one that counts was. */
  readonly atMs: EpochMs;
}
