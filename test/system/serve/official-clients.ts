// What the programs of the official clients are told, and what they tell.

/** Passed as JSON in the first argument. */
export interface ClientOptions {
  readonly url: string;
  readonly transport: 'JSONRPC' | 'HTTP+JSON';
  readonly key: string;
  /** Receiver of pushes. */
  readonly hookUrl: string;
}

/** What a client has seen on its tour of an agent. */
export interface Seen {
  readonly skills: readonly string[];
  readonly sent: string;
  /** Whether a read shows the task as its answer did. */
  readonly isSame: boolean;
  readonly asked: string;
  readonly configs: readonly string[];
  readonly snapshot: string;
  readonly answered: boolean;
  readonly watched: readonly string[];
  readonly artifacts: readonly (readonly unknown[])[];
  readonly streamed: readonly string[];
  readonly begun: string;
  readonly canceled: string;
  readonly found: readonly boolean[];
  readonly unknown: boolean;
  /** Task whose news are pushed. */
  readonly taskId: string;
}

export interface Report {
  readonly seen: Seen;
  /** Replies that the client's types did not give back unchanged. */
  readonly changed: readonly unknown[];
  readonly methods: readonly string[];
}
