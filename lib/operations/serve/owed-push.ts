import type { EpochMs } from '../../base/time.js';
import type { Push } from '../../remote/push-sender.js';

/** A push that a config owes. */
export interface OwedPush {
  /** What the cursor is after it. */
  readonly generation: number;
  /** When it was committed. */
  readonly atMs: EpochMs;
  /** Returns it as its receiver wants it. */
  readonly push: () => Promise<Push>;
}
