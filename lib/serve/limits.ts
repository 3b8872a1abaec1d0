// Limits of what clients send and are sent, over A2A and MCP alike.

/** Largest body of a request. */
export const requestMaxBytes = 4 * 1024 * 1024;
/** Time after which a stream ends, to be opened again. */
export const streamMaxMs = 180_000;
/** Interval of the comments of a quiet stream. */
export const keepAliveMs = 15_000;
