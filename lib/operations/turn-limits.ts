/** Limits that the host of a turn sets. */
export interface TurnLimits {
  /** Time until the process may be stopped. */
  remainingMs(): number;
  /**
   * Number of deliveries of the message, this one included; default 1. More means that an earlier turn died with it.
   */
  readonly deliveryCount?: number;
}
