// Every limit of the engine, in one place. A number with a reason has the reason beside it.

const KiB = 1024;
const MiB = 1024 * KiB;

/** Text of `ctx.progress`, cut. */
export const progressMaxBytes = KiB;
/** Longest delay of a start. */
export const startDelayMaxMs = 365 * 24 * 3_600_000;
/** Longest extension of one heartbeat. */
export const heartbeatMaxMs = 7 * 24 * 3_600_000;
export const tagsMax = 10;
/** Problems of an input that are listed, and the text of each. */
export const issuesMax = 20;
export const issueTextBytes = 200;
/** Of a signal key, or the id of a request to stop. */
export const requestIdMaxChars = 128;
/** Payload of a signal. */
export const signalMaxBytes = 256 * KiB;
/** Events after which a run should go on as a new one: the cost of a cold turn grows with its history. */
export const continueAsNewEvents = 10_000;
/** Default of `ctx.map`. */
export const mapConcurrency = 16;
/** Longest pause of a run; then it goes on by itself. */
export const pauseMaxMs = 24 * 3_600_000;
/** Times a step may take its process with it before it is failed. */
export const poisonStrikes = 3;
/** Largest payload: input or result of a run, result of a step or of a remote task. A larger one fails and says so. */
export const payloadMaxBytes = 2 * MiB;
/** A stored payload above this is cut into chunks: a DynamoDB item holds 400 KB, and has other attributes. */
export const chunkBytes = 300 * KiB;
/** Events taken into one commit stop here; what does not fit goes into the next commit. */
export const commitTargetBytes = 300 * KiB;
/** Inputs of remote calls up to this size are kept in the history for the reader; of larger ones only the digest. */
export const inputPreviewBytes = 512;
/** Text of a failure, of a remote or of a step, cut on a character boundary. */
export const failureTextBytes = 4 * KiB;

/** Pages of the index that one call of `GET /runs` reads: a filter that matches little must not scan the table. */
export const listPagesMax = 10;
/** Events of one page of a history; a page holds whole commits, so it can have some more. */
export const historyPageEvents = 1_000;
/** A page of a history ends with the commit that reaches this: an answer of Lambda is at most 6 MB. */
export const historyPageBytes = 2 * MiB;

/** Request body of a start, of `complete` and of `settle`: inputs and results may be as large as the gateway lets through. */
export const inboundCompleteMaxBytes = 4 * MiB;
/** Request body of every other management route. */
export const inboundMaxBytes = 1 * MiB;
/** Bounds of JSON that came from outside, counted before it is parsed. */
export const jsonMaxDepth = 64;
export const jsonMaxKeys = 10_000;

// Outbound HTTP to remote servers.
export const connectTimeoutMs = 3_000;
export const headersTimeoutMs = 20_000;
export const requestTimeoutMs = 30_000;
export const remoteReplyMaxBytes = 4 * MiB;

// Starting a remote task.
export const startAttempts = 5;
export const startBackoffBaseMs = 1_000;

// Polling.
export const pollIntervalMinMs = 5_000;
export const pollIntervalMaxMs = 300_000;
/** A server's own hint is believed up to this. */
export const pollHintMaxMs = 3_600_000;
/** One claim, which is one write, lasts at least this long. */
export const pollClaimMs = 60_000;
/** Lambda cuts a loop through SQS near 16 invocations. */
export const pollHopsMax = 10;
/** Due instants are rounded up to this, so that one invocation carries many tasks. */
export const pollTickMs = 1_000;
export const pollsPerServer = 8;
/** First and later polls, timers and retries this close also go as a delayed message, beside the sweep. */
export const delayedMessageMaxMs = 90_000;
/** SQS delays a message by at most this. */
export const queueDelayMaxMs = 900_000;

// Turns.
export const turnTimeoutMs = 60_000;
/** Visibility of a turn message: a crashed turn keeps its group locked this long. */
export const turnVisibilityMs = 90_000;
/** A step that may need longer than this cannot run inside a turn. */
export const stepTimeoutMaxMs = 45_000;
export const stepsInParallel = 16;
/** Remote starts, starts of children and hand-outs of tokens of one turn at a time: a foreign server is not flooded. */
export const outsideInParallel = 16;
/** Remote cancels of one turn at a time. */
export const cancelsInParallel = 8;
/** Tries to store a handle: a task runs, and this is the only record of it. */
export const storeHandleTries = 6;
export const storeHandleBackoffMs = 200;
/** With less than this left a turn starts nothing, wakes itself again and returns. */
export const turnReserveMs = 5_000;
/** Requests recorded in one commit; more go into the next. */
export const requestsPerCommit = 300;
/** A turn in flight looks for a cancel this often. */
export const inboxCheckMs = 2_000;

export const sweepIntervalMs = 60_000;
/** Partitions of the due index. */
export const dueShards = 16;

/** Default of the `timeout` of a remote call. */
export const remoteTimeoutDefaultMs = 24 * 3_600_000;
export const idempotencyKeyMaxBytes = 255;

// Replies of remote servers.
/** Text of a JSON-RPC error or of trouble with the connection. */
export const remoteErrorTextBytes = 1 * KiB;
/** Ids of tasks and contexts go into headers and onto the token item. */
export const remoteIdMaxBytes = 1 * KiB;
/** State of a task in the server's own words, kept for display. */
export const remoteStateMaxChars = 64;
/** Artifacts of a failed task are kept in the error up to this size; of larger ones only how many and how large. */
export const failureArtifactsMaxBytes = 64 * KiB;
/** Secrets shorter than this are not looked for in texts of a remote: they would match by chance. */
export const scrubMinChars = 4;

// Store.
/** What DynamoDB takes: one item, one transaction. */
export const itemMaxBytes = 400 * KiB;
export const transactionMaxWrites = 100;
export const transactionMaxBytes = 4 * MiB;
/** Shorter payloads are stored as plain JSON: gzip and base64 gain nothing there. */
export const payloadGzipFromBytes = 1 * KiB;
/** A stored payload that inflates to more is refused: what we store ourselves stays far below. */
export const payloadInflatedMaxBytes = 8 * MiB;
export const storeConnectTimeoutMs = 1_000;
export const storeRequestTimeoutMs = 5_000;
/** Attempts of the AWS SDK for one request. */
export const storeRequestAttempts = 3;
// Sending to the queues: as with the store, and with the SDK's own repeats.
export const queueConnectTimeoutMs = 1_000;
export const queueRequestTimeoutMs = 5_000;
export const queueRequestAttempts = 3;
/** Attempts of a write that met another transaction on its items. */
export const storeConflictAttempts = 6;
export const storeConflictBackoffBaseMs = 20;
export const storeConflictBackoffMaxMs = 500;
/** A journal is written anew at open when it has this many lines more than twice its items. */
export const journalSpareLines = 1_000;
