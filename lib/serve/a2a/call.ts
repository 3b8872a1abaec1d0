/** Revisions of A2A that are served. */
export type A2aVersion = '1.0' | '0.3';

/** What a request says besides its method and parameters. */
export interface Call {
  readonly version: A2aVersion;
  /** The skill whose endpoint is called. Missing: the endpoint of all skills. */
  readonly skill?: string;
  /** URIs of the extensions that the request activates and the agent has. */
  readonly extensions: ReadonlySet<string>;
  readonly idempotencyKey?: string;
  /** Generation of the last event that a subscriber was sent. */
  readonly lastEventId?: string;
  readonly traceparent?: string;
}
