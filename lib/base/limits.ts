// Limits and times that several files share. A number that one file uses is at the top of that file, what one folder shares in
// its `limits.ts`. A number with a reason has the reason beside it.

const KiB = 1024;
const MiB = 1024 * KiB;

export const tagsMax = 10;
export const tagNameMaxChars = 64;
export const tagValueMaxChars = 256;
export const signalNameMaxChars = 128;
/** Problems of an input that are listed, and the text of each. */
export const issuesMax = 20;
export const issueTextBytes = 200;
/** Of a signal key, or the id of a request to stop. */
export const requestIdMaxChars = 128;
/** Longest replay for one query: whoever asks waits for it, and so does everybody else of that process. */
export const queryTimeoutMs = 5_000;
/** Longest pause of a run; then it goes on by itself. */
export const pauseMaxMs = 24 * 3_600_000;
/** Largest payload: input or result of a run, result of a step or of a remote task. A larger one fails and says so. */
export const payloadMaxBytes = 2 * MiB;
/** A stored payload is cut into chunks of this size where the item has no room for it. */
export const chunkBytes = 300 * KiB;
/** Text of a failure, of a remote or of a step, cut on a character boundary. */
export const failureTextBytes = 4 * KiB;

/** Runs that one page of `GET /activities/external` reads, histories and all. */
export const externalPageRuns = 25;
export const runsReadInParallel = 8;
/** Events of one page of a history; a page holds whole commits, so it can have some more. */
export const historyPageEvents = 1_000;
/** A page of a history ends with the commit that reaches this: an answer of Lambda is at most 6 MB. */
export const historyPageBytes = 2 * MiB;

/** Request body of a start, of `complete` and of `settle`: inputs and results may be as large as the gateway lets through. */
export const inboundCompleteMaxBytes = 4 * MiB;

// Outbound HTTP to remote servers.
export const requestTimeoutMs = 30_000;
/** What a start may need to ask beforehand (which revision, which tools), each: it must leave time for the start itself. */
export const sideRequestTimeoutMs = 10_000;
export const remoteReplyMaxBytes = 4 * MiB;

// Protection of remote servers, across workers.
/** Longest time without a probe, as the longest between two failing reads. */
export const breakerOpenMaxMs = 300_000;
export const startsWaitMaxMs = 2_000;

// Starting a remote task.
/** How long a worker waits for the answer to one start: there are agents that answer when their work is done. */
export const startPatienceMs = 600_000;
/** A server that names a running task this soon is remembered as one that answers starts at once. */
export const startPromptMs = 5_000;
/** A server is asked for what it says of itself for at most this long; the start after it must still fit into the turn. */
export const serverTraitsTimeoutMs = 5_000;

// Agent cards of A2A.
/** A card is believed for as long as its server says, but at least and at most this long. */
export const agentCardAgeMinMs = 60_000;
export const agentCardAgeMaxMs = 3_600_000;

// Polling.
export const pollIntervalMinMs = 5_000;
export const pollIntervalMaxMs = 300_000;
/** A server's own hint is believed up to this. */
export const pollHintMaxMs = 3_600_000;
/** A server that says so soon after the start that it knows no such task may have replicas that lag. */
export const taskMissingGraceMs = 60_000;
/** Reads in a row that say so, or that can never be stored, after which the wait ends. */
export const badReadsMax = 3;
/** First and later polls, timers and retries this close also go as a delayed message, beside the sweep. */
export const delayedMessageMaxMs = 90_000;
/** SQS delays a message by at most this. */
export const queueDelayMaxMs = 900_000;

// Turns.
export const turnTimeoutMs = 60_000;
/** Visibility of a turn message: a crashed turn keeps its group locked this long. */
export const turnVisibilityMs = 90_000;
/** A step that may need longer than this cannot run inside a turn: it is a long step. */
export const stepTimeoutMaxMs = 45_000;

// Long steps.
/** What Lambda lets a function run, and the longest attempt of a long step: the rest is for the replay before it and the writes after it. */
export const stepFunctionTimeoutMs = 900_000;
/** With less than its timeout and this left of its invocation an attempt is not begun. */
export const longStepReserveMs = 30_000;
/** A message to the step queue that nobody has acted upon for this long is sent again. */
export const longStepResendMs = 60_000;

export const sweepIntervalMs = 60_000;
/**
 * Partitions of the due index, where nothing else is said. DynamoDB takes some 1,000 write units a second for each, and a
 * settlement costs three in the index: 2,000 settlements a second are 375 of them. Never fewer, so that sweeps of any
 * version look at these.
 */
export const dueShardsMin = 16;
/** Each is one query of every sweep; and the table itself takes fewer units, unless AWS has raised its quota. */
export const dueShardsMax = 256;

export const idempotencyKeyMaxBytes = 255;

// Replies of remote servers.
/** Text of a JSON-RPC error or of trouble with the connection. */
export const remoteErrorTextBytes = 1 * KiB;
/** Ids of tasks and contexts go into headers and onto the token item. */
export const remoteIdMaxBytes = 1 * KiB;
/** State of a task in the server's own words, kept for display. */
export const remoteStateMaxChars = 64;
/** A question, by a server or for a person, with its schema. */
export const questionMaxBytes = 64 * KiB;
/** The content of one answer; it is kept in the history. */
export const answerMaxBytes = 64 * KiB;
/** Questions of one call that are taken in; what asks more is not worth waiting for. */
export const questionsMax = 64;
/** How often a server may ask before it makes a task. */
export const startRoundsMax = 8;
/** How long one question for news of a run may wait: an HTTP API answers for us after 30 s. */
export const followMaxMs = 20_000;
/** Between two looks at a run that is followed. */
export const followIntervalMs = 1_000;
export const discoveryAgeMaxMs = 3_600_000;
/** How long the revision of a server is believed, by all workers, as long as the server does not deny it. */
export const revisionAgeMs = 24 * 3_600_000;

// Store.
export const storeConnectTimeoutMs = 1_000;
export const storeRequestTimeoutMs = 5_000;
/** Attempts of the AWS SDK for one request. */
export const storeRequestAttempts = 3;
export const writesInParallel = 16;

// Publishing lifecycle events.
/** Time of a request to the bus with all its attempts: two that time out, and the wait between them. */
export const busAnswerTimeoutMs = 8_000;

// What must be left of an invocation before something is begun: the sum of the limits of all that belongs to it.
/** Time of a write: a request to the store that gets no answer. */
export const storeWriteMs = storeConnectTimeoutMs + storeRequestTimeoutMs;
/** Beside the timeout of a step: the commit that holds its result. */
export const turnReserveMs = storeConnectTimeoutMs + storeRequestTimeoutMs;
/** A start from its call on: the reply, and the handle that is to be stored. Looked at once more before the call. */
export const startCallMs = requestTimeoutMs + storeWriteMs;
/** A whole start: a place among those of its worker, what the server says of itself, the claim of the attempt, the call. */
export const startReserveMs = startsWaitMaxMs + serverTraitsTimeoutMs + storeWriteMs + startCallMs;
/** What a worker keeps back of its time for what follows the answer to a start, and for how long its claim outlasts it. */
export const startTakeMs = 60_000;
/** A read of a remote task: the claim, the reply, and the settlement. */
export const pollReserveMs = storeWriteMs + requestTimeoutMs + storeWriteMs;
/** An answer to a question: the reply, and the commit that says what it was. */
export const answerReserveMs = requestTimeoutMs + storeWriteMs;
/** A cancel: the reply, and the write that says what came of it. */
export const cancelReserveMs = requestTimeoutMs + storeWriteMs;
/** To find the task of a start of unknown fate: what the server says of itself, twice, the reply, and the handle that is stored. */
export const lostStartReserveMs = 2 * serverTraitsTimeoutMs + requestTimeoutMs + storeWriteMs;
/** Some lifecycle events: the longest request, and the write that says that they are published. */
export const publishReserveMs = busAnswerTimeoutMs + storeWriteMs;
