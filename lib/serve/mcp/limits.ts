// Limits of what MCP clients send and are sent.

/** Most requests of a batch. */
export const batchMax = 50;
/** Tools on a page of the list. */
export const toolPageSize = 100;
/** How long clients may keep the list of tools and what the server says of itself. */
export const cacheTtlMs = 60_000;
/** Longest time in which a call is answered with its result, for clients without tasks; then with a handle. */
export const promptMaxMs = 20_000;
/** Longest wait of the tool that waits: hosts end calls after 60 s. */
export const waitMaxMs = 50_000;
/** When a client may try again that found no place for a stream. */
export const streamRetrySeconds = 30;
/** Bounds of the interval after which a client is told to read a task again: a tenth of its age. */
export const pollMinMs = 1_000;
export const pollMaxMs = 30_000;
/** Tasks of one subscription. */
export const subscribedMax = 20;
/** Time for which the state of a question that came before a result can be given back. */
export const requestStateMaxMs = 24 * 3_600_000;
/** Runs that are listed for a host that has lost its handles. */
export const listedRunsMax = 10;

/**
 * Artifacts of one result, as JSON: enough for what any workflow returns, which comes first, and structured beside. Of an
 * artifact that does not fit, a text says how large it is.
 */
export const artifactsMaxBytes = 2_200_000;
