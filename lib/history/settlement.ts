import type { StoredError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';

/** The outcome of a wait, from the first settlement of its token. */
export type TokenOutcome =
  | {
      readonly kind: 'completed';
      readonly result: JsonValue;
      readonly isError: boolean;
      readonly taskId?: string;
      /** With `isError`: the error came in the reply to the start. */
      readonly phase?: 'start';
      /** Set for a long step that returned nothing: `result` is null and the workflow gets undefined. */
      readonly isVoid?: true;
    }
  | { readonly kind: 'failed'; readonly error: StoredError }
  /**
   * `phase`: the start had not been answered or not been sent, for that `reason`. `mayRun`: the start had been sent.
   * `taskId`: the remote task, which was still running.
   */
  | {
      readonly kind: 'timed_out';
      readonly phase?: 'start';
      readonly reason?: string;
      readonly mayRun?: true;
      readonly taskId?: string;
    }
  /** The workflow no longer waits: the loser of a race, a cancelled scope. */
  | { readonly kind: 'abandoned' }
  | { readonly kind: 'run_ended' };

/** Source of a settlement. `caller`: the caller of a served task has answered its question. `end`: the run ended, or no longer waits. */
export type SettledBy = 'start' | 'poll' | 'relay' | 'operator' | 'caller' | 'child' | 'step' | 'timeout' | 'end';

/** How a wait ended. */
export type OutcomeKind = 'completed' | 'failed' | 'timed_out' | 'abandoned' | 'run_ended';

/** The first outcome of a token, stored on the token item; history events refer to it. */
export interface Settlement {
  readonly writerId: string;
  readonly atMs: EpochMs;
  readonly by: SettledBy;
  /** Id of the caller who settled it, or who had the task read. */
  readonly caller?: string;
  /** What proved the sender of a relay's settlement, besides the token: `bearer`, `jwt <jti>` … */
  readonly proof?: string;
  readonly outcome: TokenOutcome;
}
