/** How a remote task ended without an outcome, for `restart`. */
export type RestartCause = 'failed' | 'rejected' | 'cancelled' | 'timedOut' | 'expired' | 'lost';

export interface RestartPolicy {
  /** Calls in all, the first included: 2 to 20. */
  readonly attempts: number;
  /** After which ends; default `['failed', 'cancelled', 'expired', 'lost']`. */
  readonly on?: readonly RestartCause[];
}
