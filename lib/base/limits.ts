// Limits that the docs name, and tunings that several folders share. What one file alone uses stands at the top of that file,
// what one folder uses in its `limits.ts`. A number with a reason has the reason beside it.

const KiB = 1024;
const MiB = 1024 * KiB;

/** Text of `ctx.progress`, cut. */
export const progressMaxBytes = KiB;
/** Longest delay of a start. */
export const startDelayMaxMs = 365 * 24 * 3_600_000;
/** Longest extension of one heartbeat. */
export const heartbeatMaxMs = 7 * 24 * 3_600_000;
export const tagsMax = 10;
export const tagNameMaxChars = 64;
export const tagValueMaxChars = 256;
export const signalNameMaxChars = 128;
/** Problems of an input that are listed, and the text of each. */
export const issuesMax = 20;
export const issueTextBytes = 200;
/** A schema that has said nothing by then refuses its input. */
export const schemaTimeoutMs = 10_000;
/** Of a signal key, or the id of a request to stop. */
export const requestIdMaxChars = 128;
/** Payload of a signal. */
export const signalMaxBytes = 256 * KiB;
/** Events after which a run should go on as a new one: the cost of a cold turn grows with its history. */
export const continueAsNewEvents = 10_000;
/** Longest replay for one query: whoever asks waits for it, and so does everybody else of that process. */
export const queryTimeoutMs = 5_000;
/** Default of `ctx.map`. */
export const mapConcurrency = 16;
/** Waits that a closed scope turns away; those after it never end. */
export const refusedWaitsMax = 10_000;
/** Longest pause of a run; then it goes on by itself. */
export const pauseMaxMs = 24 * 3_600_000;
/** A run that replaces another looks whether that has ended after as long as it has waited so far, within these. */
export const replacedLookMinMs = 1_000;
export const replacedLookMaxMs = 60_000;
/** Times a step may take its process with it before it is failed. */
export const poisonStrikes = 3;
/** Longest pause before an attempt of a step that an error may ask for. */
export const stepRetryAfterMaxMs = 24 * 3_600_000;
/** Largest payload: input or result of a run, result of a step or of a remote task. A larger one fails and says so. */
export const payloadMaxBytes = 2 * MiB;
/** A stored payload is cut into chunks of this size where the item has no room for it. */
export const chunkBytes = 300 * KiB;
/** Details of an error of a run; of larger ones only the size is kept, since a commit also holds what led to it. */
export const errorDetailsMaxBytes = 3 * MiB;
/** Events taken into one commit stop here; what does not fit goes into the next commit. */
export const commitTargetBytes = 300 * KiB;
/** Handles in one commit: their ids are the servers', and thousands of them can come at once. */
export const commitHandlesMaxBytes = MiB;
/** Inputs of remote calls up to this size are kept in the history for the reader; of larger ones only the digest. */
export const inputPreviewBytes = 512;
/** Text of a failure, of a remote or of a step, cut on a character boundary. */
export const failureTextBytes = 4 * KiB;

/** Pages of the index after which a call of `GET /runs` ends: a filter that matches little must not scan the table. */
export const listPagesMax = 10;
/** Rows of such a page where a filter may leave most of them out. */
export const filteredPageRows = 100;
/** Runs that one page of `GET /activities/external` reads, histories and all. */
export const externalPageRuns = 25;
export const runsReadInParallel = 8;
/** Events of one page of a history; a page holds whole commits, so it can have some more. */
export const historyPageEvents = 1_000;
/** A page of a history ends with the commit that reaches this: an answer of Lambda is at most 6 MB. */
export const historyPageBytes = 2 * MiB;

/** Request body of a start, of `complete` and of `settle`: inputs and results may be as large as the gateway lets through. */
export const inboundCompleteMaxBytes = 4 * MiB;
/** Request body of every other management route. */
export const inboundMaxBytes = 1 * MiB;
/** Shortest management token: its holder may do everything, and only its length keeps it from being guessed. */
export const managementTokenMinChars = 24;
/** Bounds of JSON that came from outside, counted before it is parsed. */
export const jsonMaxDepth = 64;
export const jsonMaxKeys = 10_000;
/** Keys, objects and arrays together, which is what parsing costs; numbers and texts are free. Of replies the only such bound. */
export const jsonMaxParts = 200_000;

// Outbound HTTP to remote servers.
export const requestTimeoutMs = 30_000;
/** What a start may need to ask beforehand (which revision, which tools), each: it must leave time for the start itself. */
export const sideRequestTimeoutMs = 10_000;
export const remoteReplyMaxBytes = 4 * MiB;

// Protection of remote servers, across workers.
export const breakerFailuresDefault = 10;
export const breakerOpenDefaultMs = 30_000;
/** Longest time without a probe, as the longest between two failing reads. */
export const breakerOpenMaxMs = 300_000;
/** Failures further apart are not one row: a server of a single slow task would be left alone for nothing. */
export const breakerStreakMs = 300_000;
/** A `Retry-After` is followed for one task up to an hour, for all tasks of its server up to this. */
export const serverHoldMaxMs = 300_000;
export const serverConcurrencyMax = 256;
/** Starts of one worker on one server at a time, and how long others wait for their place. */
export const startsPerServer = 8;
export const startsWaitMaxMs = 2_000;

// Credentials of remote servers.
/** A secret of AWS is read again after this. */
export const secretCacheMs = 60_000;
/** While AWS cannot be asked, a value goes on being used up to this age. */
export const secretStaleMaxMs = 3_600_000;
/** A token is replaced this long before it expires, or at half of a shorter life. */
export const oauthTokenMarginMs = 60_000;

// Starting a remote task.
export const startAttempts = 5;
/** How long a worker waits for the answer to one start: there are agents that answer when their work is done. */
export const startPatienceMs = 600_000;
/** A server that names a running task this soon is remembered as one that answers starts at once. */
export const startPromptMs = 5_000;
/** A message to the queue of starts that nobody has acted upon for this long is sent again. */
export const startResendMs = 60_000;
export const startBackoffBaseMs = 1_000;
/** A server is asked for what it says of itself for at most this long; the start after it must still fit into the turn. */
export const serverTraitsTimeoutMs = 5_000;
/** Waits before a server is asked for the task of a start of unknown fate: it may still be making one. */
export const startProbeDelaysMs: readonly number[] = [2_000, 8_000, 30_000];
/** Calls of one `restart`, the first included. Each is a whole task on a foreign server. */
export const restartAttemptsMax = 20;

// Agent cards of A2A.
export const agentCardMaxBytes = 256 * KiB;
/** A card is believed for as long as its server says, but at least and at most this long. */
export const agentCardAgeMinMs = 60_000;
export const agentCardAgeMaxMs = 3_600_000;

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
/** A server that says so soon after the start that it knows no such task may have replicas that lag. */
export const taskMissingGraceMs = 60_000;
/** Reads in a row that say so, or that can never be stored, after which the wait ends. */
export const badReadsMax = 3;
/** Two of them that are closer together count as one: a read that somebody asked for out of turn proves nothing new. */
export const badReadsGapMs = 10_000;
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
export const stepsInParallel = 16;
/** Remote starts, starts of children and hand-outs of tokens of one turn at a time: a foreign server is not flooded. */
export const outsideInParallel = 16;
/** Remote cancels of one turn at a time. */
export const cancelsInParallel = 8;
/** A remote task whose server does not answer a cancel is left alone after this long. */
export const cancelGiveUpMs = 24 * 3_600_000;
/** Lost races in a row after which a turn gives its message back, and up to how many it pauses for none of them. */
export const turnPassesMax = 60;
export const quickPasses = 4;
export const passBackoffMaxMs = 1_000;
/** Turns in a row that throw in the same way before the run counts as blocked; further apart they are no row. */
export const failedTurnsMax = 3;
export const failedTurnsWindowMs = 24 * 3_600_000;
/** Requests recorded in one commit; more go into the next. */
export const requestsPerCommit = 300;
/** Runs that a process remembers between turns, and their events in all: some 10 MB beside what their code holds. */
export const warmRunsMax = 50;
export const warmEventsMax = 50_000;
/** Ids of ended runs that a process remembers: the wakes that are left over of one come within minutes. */
export const endedRunsMax = 1_000;
/** A turn in flight looks for a cancel this often. */
export const inboxCheckMs = 2_000;

// Long steps.
/** What Lambda lets a function run, and the longest attempt of a long step: the rest is for the replay before it and the writes after it. */
export const stepFunctionTimeoutMs = 900_000;
export const longStepTimeoutMaxMs = 840_000;
/** With less than its timeout and this left of its invocation an attempt is not begun. */
export const longStepReserveMs = 30_000;
/** A worker says this often that it is alive; it notices as soon that nobody wants its work any more. */
export const longStepBeatMs = 20_000;
/** A worker that has not said so for this long counts as dead: three beats may fail, and the sweep, which looks a minute ahead, passes by one that lives. */
export const longStepLeaseMs = 90_000;
/** A message to the step queue that nobody has acted upon for this long is sent again. */
export const longStepResendMs = 60_000;
/** What a step reports of how far it has come. It is kept with the history and handed to the next attempt. */
export const stepProgressMaxBytes = 256 * KiB;

export const sweepIntervalMs = 60_000;
/**
 * Partitions of the due index, where nothing else is said. DynamoDB takes some 1,000 write units a second for each, and a
 * settlement costs three in the index: 2,000 settlements a second are 375 of them. Never fewer, so that sweeps of any
 * version look at these.
 */
export const dueShardsMin = 16;
/** Each is one query of every sweep; and the table itself takes fewer units, unless AWS has raised its quota. */
export const dueShardsMax = 256;

/** Default of the `timeout` of a remote call. */
export const remoteTimeoutDefaultMs = 24 * 3_600_000;
export const idempotencyKeyMaxBytes = 255;
/** Of a key that an author gives a remote call: with the number of a restart it must stay below the limit above. */
export const remoteKeyMaxChars = 200;

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
/** Parts of an answer times parts of its schema: beyond this it is not checked, since that takes more than about a second. */
export const answerCheckPairsMax = 200_000;
/** Questions of a page that are read at a time; ten of them are less than 1 MiB. */
export const inputsReadInParallel = 10;
/** Questions of one call that are taken in; what asks more is not worth waiting for. */
export const questionsMax = 64;
/** How often a server may ask before it makes a task. */
export const startRoundsMax = 8;
/** How long one question for news of a run may wait: an HTTP API answers for us after 30 s. */
export const followMaxMs = 20_000;
/** Between two looks at a run that is followed. */
export const followIntervalMs = 1_000;
/** What remote tasks say is gathered for this long: each answer costs their servers a new stream or a read. */
export const progressGatherMs = 5_000;
/** Remote tasks of one run that are followed at a time, and what is kept of what they say for one answer. */
export const followedTasksMax = 8;
export const progressEventsMax = 1_000;
export const progressEventsMaxBytes = 256 * KiB;
/** After an answer the task is looked at again this soon. */
export const pollAfterAnswerMs = 5_000;
/** How long what a server says of itself is believed: its own word within these. */
export const discoveryAgeMinMs = 60_000;
export const discoveryAgeMaxMs = 3_600_000;
/** How long the revision of a server is believed, by all workers, as long as the server does not deny it. */
export const revisionAgeMs = 24 * 3_600_000;
/** How long a list of tools is believed of a server that gives it no age. */
export const toolListAgeMs = 300_000;

// Store.
/** What DynamoDB takes: one item, the parts of its key and of an index's, one transaction. */
export const itemMaxBytes = 400 * KiB;
export const partitionKeyMaxBytes = 2 * KiB;
export const sortKeyMaxBytes = KiB;
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
/** Items of one run that are read, or put, side by side where each is a request of its own. */
export const readsInParallel = 16;
export const writesInParallel = 16;
/**
 * How long a write goes on that meets other transactions on its items: an API answers within 30 s. The longest pause is
 * one at which a thousand senders leave the table to those whose turn it is.
 */
export const storeConflictPatienceMs = 20_000;
export const storeConflictBackoffBaseMs = 20;
export const storeConflictBackoffMaxMs = 4_000;
/** Pauses between the tries of a write that holds what no item has yet, as long as there is time. */
export const storeRetryBackoffBaseMs = 200;
export const storeRetryBackoffMaxMs = 5_000;
/** How long a request waits for the run that its own goes on as, and between two looks. */
export const nextRunPatienceMs = 8_000;
export const nextRunLookMs = 250;
// Publishing lifecycle events.
/** Time of a request to the bus with all its attempts: two that time out, and the wait between them. */
export const busAnswerTimeoutMs = 8_000;
/** Events published between two looks at the time that is left, which fill a request. */
export const publishedAtOnce = 10;
// Keys of payloads from KMS.
/** How long a data key seals, and how long an unwrapped one is remembered: a right that is taken away ends within this. */
export const payloadKeyAgeMaxMs = 15 * 60_000;
/** Payloads sealed under one data key: far below what random nonces allow, and still few requests to KMS. */
export const payloadKeyUsesMax = 10_000;
/** Unwrapped data keys kept. A run of weeks has one from each process that wrote it. */
export const unwrappedKeysMax = 1_000;
/** Unwraps at a time: a long history must not take the whole quota of KMS. */
export const keyRequestsInParallel = 16;
/** A journal is written anew at open when it has this many lines more than twice its items. */
export const journalSpareLines = 1_000;

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
