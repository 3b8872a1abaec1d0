/** What the host of a turn says about it. */
export interface TurnLimits {
  /** Time until the process may be stopped. */
  remainingMs(): number;
  /** How often the message has been delivered, this time included; default 1. More: an earlier turn died with it. */
  readonly deliveryCount?: number;
}
