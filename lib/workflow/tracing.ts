/** What the function of `tracing` gets. */
export interface TracingSetup {
  /**
   * Must be given to the provider: the ids of the engine's spans are functions of the run and of what they are about,
   * so that work that is retried in another process is the same span. Other spans get random ids.
   */
  readonly idGenerator: { generateTraceId(): string; generateSpanId(): string };
}

/** OpenTelemetry, as far as it is used. */
export interface TracingParts {
  /** A tracer provider, created with the id generator. */
  readonly provider: {
    getTracer(name: string): object;
    /** Sends the spans; called at the end of each invocation. */
    forceFlush?(): Promise<void>;
  };
  /** These two exports of `@opentelemetry/api`. */
  readonly api: {
    readonly ROOT_CONTEXT: object;
    readonly trace: { setSpanContext(context: object, spanContext: object): object };
  };
}

/**
 * Creates the tracer provider of an app. Called once in a process, when the first spans are to be sent. Import
 * OpenTelemetry in a file of its own and have this function import that, so that no other invocation loads it.
 */
export type Tracing = (setup: TracingSetup) => TracingParts | Promise<TracingParts>;
