// Limits of what A2A clients send and are sent.

const KiB = 1024;

/** Longest id of a task, context, message or push config. */
export const idMaxBytes = 255;
export const partsMax = 1_000;
/** Schemes of a push config, of which the first one counts. */
export const schemesMax = 16;
/** Messages of its history that a task shows if the client does not say how many. */
export const historyLengthDefault = 100;
export const pageSizeDefault = 50;
export const pageSizeMax = 100;
/**
 * Largest task in a reply or an event, as JSON: clients of the official SDK read events of at most 4 MiB, and Lambda
 * answers with at most 6 MB.
 */
export const taskMaxBytes = 3_900_000;
/** Largest page of tasks. */
export const pageMaxBytes = 5_000_000;
/** Longest JSON Schema that the description of a skill tells; the card has every schema in an extension. */
export const toldSchemaMaxBytes = 2 * KiB;
/** Longest wait of a blocking message: an HTTP API times out after 30 s. */
export const blockMaxMs = 25_000;
/** Seconds after which a client may ask again for a stream that was refused. */
export const streamRetrySeconds = 15;
