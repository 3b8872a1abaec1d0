// Limits and times that several files share. A limit that one file uses stands at the top of that file, limits of one
// folder in its `limits.ts`.

const KiB = 1024;
const MiB = 1024 * KiB;

export const tagsMax = 10;
export const tagNameMaxChars = 64;
export const tagValueMaxChars = 256;
export const signalNameMaxChars = 128;
/** Most issues of an input that are listed, and the longest text of each. */
export const issuesMax = 20;
export const issueTextBytes = 200;
/** Longest id of a request: the key of a signal, or the id of a cancel or terminate. */
export const requestIdMaxChars = 128;
/** Longest replay for one query: the caller waits for it, and so do all others of the same process. */
export const queryTimeoutMs = 5_000;
/** Longest pause of a run; it then resumes by itself. */
export const pauseMaxMs = 24 * 3_600_000;
/**
 * Largest payload: input or result of a run, result of a step or of a remote task. A larger one is a PAYLOAD_TOO_LARGE.
 */
export const payloadMaxBytes = 2 * MiB;
/** Size of the chunks of a stored payload that does not fit into its item. */
export const chunkBytes = 300 * KiB;
/** Longest text of a failure, cut on a character boundary. */
export const failureTextBytes = 4 * KiB;

/** Runs whose histories one page of `GET /activities/external` reads. */
export const externalPageRuns = 25;
export const runsReadInParallel = 8;
/** Events of one page of a history; a page holds whole commits, so it may have a few more. */
export const historyPageEvents = 1_000;
/** A page of a history ends with the commit that reaches this size: a response of Lambda is at most 6 MB. */
export const historyPageBytes = 2 * MiB;

/** Request body of a start, of `complete` and of `settle`, which carry inputs and results. */
export const inboundCompleteMaxBytes = 4 * MiB;

// Outbound HTTP to remote servers.
export const requestTimeoutMs = 30_000;
/** Timeout of each request before a start (which revision, which tools): it must leave time for the start itself. */
export const sideRequestTimeoutMs = 10_000;
export const remoteReplyMaxBytes = 4 * MiB;

// Protection of remote servers, across workers.
/** Longest time that an open breaker allows no probe; equal to the longest time between two failing reads. */
export const breakerOpenMaxMs = 300_000;
export const startsWaitMaxMs = 2_000;

// Starting a remote task.
/** How long a worker waits for the reply to one start: some agents reply when their work is done. */
export const startPatienceMs = 600_000;
/** A server that replies this soon with a running task is remembered as one that replies to starts promptly. */
export const startPromptMs = 5_000;
/** Timeout for reading what a server says about itself; the start after it must still fit into the turn. */
export const serverTraitsTimeoutMs = 5_000;

// Agent cards of A2A.
/** How long a card is cached: as its server says, within these. */
export const agentCardAgeMinMs = 60_000;
export const agentCardAgeMaxMs = 3_600_000;

// Polling.
export const pollIntervalMinMs = 5_000;
export const pollIntervalMaxMs = 300_000;
/** Longest poll interval that a server's hint can set. */
export const pollHintMaxMs = 3_600_000;
/** Within this time of its start a missing task proves nothing: the server may have replicas that lag. */
export const taskMissingGraceMs = 60_000;
/** Reads in a row that find the task missing, or its reply too large, after which the wait ends. */
export const badReadsMax = 3;
/** Polls, timers and retries that are due this soon also get a delayed message, in addition to the sweep. */
export const delayedMessageMaxMs = 90_000;
/** Longest delay of a message in SQS. */
export const queueDelayMaxMs = 900_000;

// Turns.
export const turnTimeoutMs = 60_000;
/** Visibility timeout of a turn message: a crashed turn locks its group this long. */
export const turnVisibilityMs = 90_000;
/** Longest timeout of a step inside a turn; a step that may take longer is a long step. */
export const stepTimeoutMaxMs = 45_000;

// Long steps.
/**
 * Longest run of a Lambda function. An attempt of a long step must leave time for the replay before and the writes
 * after it.
 */
export const stepFunctionTimeoutMs = 900_000;
/** An attempt begins only if its timeout and this much more are left of the invocation. */
export const longStepReserveMs = 30_000;
/** A message to the step queue is sent again if no worker has acted on it for this long. */
export const longStepResendMs = 60_000;

export const sweepIntervalMs = 60_000;
/**
 * Default number of partitions of the due index. DynamoDB takes about 1,000 write units per second in each, and a
 * settlement costs three in the index: 2,000 settlements a second are 375 per partition. Never fewer, so that sweeps of
 * every version read these.
 */
export const dueShardsMin = 16;
/** Most partitions of the due index: each costs one query per sweep, and the quota of the table is reached earlier. */
export const dueShardsMax = 256;

/** Bounds of the seconds after which a stream to a caller of a served workflow ends, to be opened again. */
export const streamSecondsMin = 10;
export const streamSecondsMax = 840;
/** Open streams to callers, unless configured otherwise: a tenth of the invocations that an account has at first. */
export const streamsMaxDefault = 100;
/** Most of them: a look for a free place reads an item for each. */
export const streamsMaxMax = 2_000;

export const idempotencyKeyMaxBytes = 255;

// Replies of remote servers.
/** Longest text of a JSON-RPC error or of a connection failure. */
export const remoteErrorTextBytes = 1 * KiB;
/** Longest id of a task or context: ids are sent in headers and stored on the token item. */
export const remoteIdMaxBytes = 1 * KiB;
/** Longest state of a task in the server's own words, kept for display. */
export const remoteStateMaxChars = 64;
/** Largest question of a server or to a person, including its schema. */
export const questionMaxBytes = 64 * KiB;
/** Largest content of one answer; it is kept in the history. */
export const answerMaxBytes = 64 * KiB;
/** Most questions that are recorded for one call; further ones are ignored. */
export const questionsMax = 64;
/** How often a server may ask questions before it makes a task. */
export const startRoundsMax = 8;
/** Longest wait of one request that follows a run: an HTTP API times out after 30 s. */
export const followMaxMs = 20_000;
/** Interval between two reads of a followed run. */
export const followIntervalMs = 1_000;
export const discoveryAgeMaxMs = 3_600_000;
/** How long all workers rely on the known revision of a server, unless the server contradicts it. */
export const revisionAgeMs = 24 * 3_600_000;

// Store.
export const storeConnectTimeoutMs = 1_000;
export const storeRequestTimeoutMs = 5_000;
/** Attempts of the AWS SDK for one request. */
export const storeRequestAttempts = 3;
export const writesInParallel = 16;

// Publishing lifecycle events.
/** Time of a request to the bus with all its attempts: two that time out, and the pause between them. */
export const busAnswerTimeoutMs = 8_000;

// Time that must be left of an invocation before an action begins: the sum of the timeouts of its parts.
/** Longest write: a request to the store that times out. */
export const storeWriteMs = storeConnectTimeoutMs + storeRequestTimeoutMs;
/** In addition to the timeout of a step: the commit of its result. */
export const turnReserveMs = storeConnectTimeoutMs + storeRequestTimeoutMs;
/** A start from its call on: the reply, and the write of the handle. Checked once more right before the call. */
export const startCallMs = requestTimeoutMs + storeWriteMs;
/** A whole start: the wait for a free slot, the discovery of the server, the claim of the attempt, the call. */
export const startReserveMs = startsWaitMaxMs + serverTraitsTimeoutMs + storeWriteMs + startCallMs;
/** Time that a worker reserves after the reply to a start, and how much longer than the wait its claim lasts. */
export const startTakeMs = 60_000;
/** A read of a remote task: the claim, the reply, and the settlement. */
export const pollReserveMs = storeWriteMs + requestTimeoutMs + storeWriteMs;
/** An answer to a question: the reply, and the commit that records it. */
export const answerReserveMs = requestTimeoutMs + storeWriteMs;
/** A cancel: the reply, and the write that records it. */
export const cancelReserveMs = requestTimeoutMs + storeWriteMs;
/** A search for the task of a lost start: two discoveries of the server, the reply, and the write of the handle. */
export const lostStartReserveMs = 2 * serverTraitsTimeoutMs + requestTimeoutMs + storeWriteMs;
/** A batch of lifecycle events: the longest request, and the write that records their publication. */
export const publishReserveMs = busAnswerTimeoutMs + storeWriteMs;
