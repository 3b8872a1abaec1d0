// What the programs of the official clients of MCP are told, and what they tell.

/** Passed as JSON in the first argument. */
export interface McpClientOptions {
  readonly url: string;
  readonly key: string;
  /** How the revision is found. */
  readonly mode?: 'auto' | 'legacy';
}

export interface McpReport {
  readonly seen: Readonly<Record<string, unknown>>;
  /** Replies that the schemas of the client did not give back unchanged. */
  readonly changed: readonly unknown[];
  readonly methods: readonly string[];
}
