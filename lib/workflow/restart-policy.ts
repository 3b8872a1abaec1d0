/** Ways in which a remote task can end without an outcome. */
export type RestartCause = 'failed' | 'rejected' | 'cancelled' | 'timedOut' | 'expired' | 'lost';

/** When to repeat a remote call whose task ended without an outcome. */
export interface RestartPolicy {
  /** Number of calls, including the first: 2 to 20. */
  readonly attempts: number;
  /** Ends after which to call again; default `['failed', 'cancelled', 'expired', 'lost']`. */
  readonly on?: readonly RestartCause[];
}
