/** What the function of `tracing` gets. */
export interface TracingSetup {
  /**
   * Must be given to the provider: the ids of the engine's spans are functions of the run and of what they are about,
   * so that work that is retried in another process is the same span. Other spans get random ids.
   */
  readonly idGenerator: { generateTraceId(): string; generateSpanId(): string };
}

/** A tracer provider of OpenTelemetry, as far as it is used. */
export interface TracingProvider {
  getTracer(name: string): object;
  /** Sends the spans; called at the end of each invocation. */
  forceFlush?(): Promise<void>;
}

/**
 * Creates the tracer provider of an app. Called once in a process, when the first spans are to be sent; import
 * OpenTelemetry in a file of its own, which this function imports, so that no other invocation loads it.
 */
export type Tracing = (setup: TracingSetup) => TracingProvider | Promise<TracingProvider>;
