import type { StoredError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';

/** What a wait was given by whoever settled its token first. */
export type TokenOutcome =
  | {
      readonly kind: 'completed';
      readonly result: JsonValue;
      readonly isError: boolean;
      readonly taskId?: string;
      /** With `isError`: the server said so in its reply to the start. */
      readonly phase?: 'start';
      /** Of a long step that gave nothing: `result` is null and the workflow gets undefined. */
      readonly isVoid?: true;
    }
  | { readonly kind: 'failed'; readonly error: StoredError }
  /**
   * `phase`: the server had not answered its start, or nothing had been sent, for that `reason`. `mayRun`: something had been.
   * `taskId`: of the remote task that ran on.
   */
  | {
      readonly kind: 'timed_out';
      readonly phase?: 'start';
      readonly reason?: string;
      readonly mayRun?: true;
      readonly taskId?: string;
    }
  /** The workflow no longer waits for it: the loser of a race, a cancelled scope. */
  | { readonly kind: 'abandoned' }
  | { readonly kind: 'run_ended' };

/** What settled a token. `end`: its run ended, or no longer waits for it. */
export type SettledBy = 'start' | 'poll' | 'relay' | 'operator' | 'child' | 'step' | 'timeout' | 'end';

/** How a wait ended. */
export type OutcomeKind = 'completed' | 'failed' | 'timed_out' | 'abandoned' | 'run_ended';

/** The first outcome of a token. It is on the token item and part of the truth; history events refer to it. */
export interface Settlement {
  readonly writerId: string;
  readonly atMs: EpochMs;
  readonly by: SettledBy;
  readonly outcome: TokenOutcome;
}
