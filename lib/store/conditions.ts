// Conditions of the protocol as data, each written once under its name; a `Table` only evaluates them. Which of them a
// write needs is explained next to that write, in `parts`.

import type { EpochMs } from '../base/time.js';
import type { RunStatus } from '../history/records.js';
import type { RequestKind } from '../history/server-rate.js';
import type { Condition, Scalar } from './table.js';

const present = (attribute: string): Condition => ({ kind: 'present', attribute });
const absent = (attribute: string): Condition => ({ kind: 'absent', attribute });
const equals = (attribute: string, value: Scalar): Condition => ({ kind: 'equals', attribute, value });
const absentOrAtMost = (attribute: string, value: number): Condition => ({ kind: 'absentOrAtMost', attribute, value });

// All items.
export const itemExists: Condition = { kind: 'itemExists' };
export const itemAbsent: Condition = { kind: 'itemAbsent' };
export const dueStill = (dueAtMs: EpochMs): Condition => equals('dueAtMs', dueAtMs);

// The head of a run.
export const statusIs = (status: RunStatus): Condition => equals('status', status);
/** Holds as long as later starts may replace the input of the run. */
export const isDebounced: Condition = present('debounceUntilMs');
export const lastStartIs = (startId: string): Condition => equals('debounceId', startId);
export const inboxCountIs = (count: number): Condition => equals('inboxCount', count);
export const hasEnded: Condition = present('endedAtMs');
export const hasNotEnded: Condition = absent('endedAtMs');
/** Holds if the marker on the head was not computed from a newer commit. */
export const markerNotNewerThan = (seq: number): Condition => absentOrAtMost('dueSeq', seq);
export const taskHintNotAfter = (atMs: EpochMs): Condition => absentOrAtMost('taskStatusAtMs', atMs);
export const notPublishedBeyond = (seq: number): Condition => absentOrAtMost('publishedSeq', seq);
export const noBlockSince = (blocks: number): Condition => absentOrAtMost('blocks', blocks);

// Tokens.
export const notSettled: Condition = absent('settledAtMs');
export const isSettled: Condition = present('settledAtMs');
export const noHandle: Condition = absent('handle');
export const hasHandle: Condition = present('handle');
export const noQuestion: Condition = absent('form');
export const notPushed: Condition = absent('pushedAtMs');
export const attemptIs = (attempt: number): Condition => equals('attempt', attempt);
export const writerIs = (writerId: string): Condition => equals('writerId', writerId);
export const hasDeadline: Condition = present('deadlineAtMs');
export const deadlineIs = (deadlineAtMs: EpochMs): Condition => equals('deadlineAtMs', deadlineAtMs);
/** Holds unless there is a deadline and it has passed. */
export const notOverdue = (atMs: EpochMs): Condition => ({
  kind: 'absentOrAbove',
  attribute: 'deadlineAtMs',
  value: atMs,
});

// Starts made by a worker.
export const workerAttemptIs = (attempt: number): Condition => equals('startAttempt', attempt);
export const workerClaimIs = (claim: string): Condition => equals('startClaim', claim);
export const nothingCame: Condition = absent('startCame');

// Questions of remote servers.
export const notTakenBeyond = (recorded: number): Condition => absentOrAtMost('questionsTaken', recorded);
export const notProgressTakenBeyond = (taken: number): Condition => absentOrAtMost('progressTaken', taken);
export const onlyAskedBefore = (round: number): Condition => absentOrAtMost('questionsRound', round - 1);

// Callers' ids, and schedules.
export const generationIs = (generation: number): Condition => equals('generation', generation);
export const neverSaved: Condition = absent('revision');
export const revisionIs = (revision: number): Condition => equals('revision', revision);

// Proofs of senders.
export const endedBy = (atMs: EpochMs): Condition => absentOrAtMost('untilMs', atMs);

// Servers.
export const isOpen: Condition = present('openUntilMs');
export const notOpenAfter = (atMs: EpochMs): Condition => absentOrAtMost('openUntilMs', atMs);
export const notProbedAfter = (atMs: EpochMs): Condition => absentOrAtMost('probeUntilMs', atMs);
export const notFailedAfter = (atMs: EpochMs): Condition => absentOrAtMost('failedAtMs', atMs);
export const notHeldAfter = (atMs: EpochMs): Condition => absentOrAtMost('holdUntilMs', atMs);
export const notTakenAfter = (atMs: EpochMs): Condition => absentOrAtMost('untilMs', atMs);
export const holderIs = (holder: string): Condition => equals('holder', holder);
export const minuteIs = (minute: number): Condition => equals('minute', minute);
export const minuteBefore = (minute: number): Condition => absentOrAtMost('minute', minute - 1);
export const fewerRequestsThan = (count: number): Condition => absentOrAtMost('requests', count - 1);
export const fewerOfKindThan = (kind: RequestKind, count: number): Condition => absentOrAtMost(kind, count - 1);
/** Conditions on the end of a line: not after, or at or after an instant. */
export const lineEndsBy = (kind: RequestKind, atMs: EpochMs): Condition => absentOrAtMost(`${kind}UntilMs`, atMs);
export const lineReaches = (kind: RequestKind, atMs: EpochMs): readonly Condition[] => [
  present(`${kind}UntilMs`),
  { kind: 'absentOrAbove', attribute: `${kind}UntilMs`, value: atMs - 1 },
];

// Counters of tenants.
export const fewerLiveThan = (count: number): Condition => absentOrAtMost('live', count - 1);

// Counters of served tasks.
export const fewerOfTasksThan = (of: 'live' | 'turns', count: number): Condition => absentOrAtMost(of, count - 1);

// Push configs.
export const notClosed: Condition = absent('closedAtMs');
export const notRemoved: Condition = absent('removedAtMs');
export const isDue: Condition = present('dueAtMs');
export const isNotDue: Condition = absent('dueAtMs');
export const isDueBy = (atMs: EpochMs): readonly Condition[] => [isDue, absentOrAtMost('dueAtMs', atMs)];
export const notClaimedAfter = (atMs: EpochMs): Condition => absentOrAtMost('claimUntilMs', atMs);
export const cursorIs = (cursor: number): Condition => equals('cursor', cursor);
export const notOwedBeyond = (owed: number): Condition => absentOrAtMost('owed', owed);

// Keys of callers.
export const keyDigestIs = (digest: string): Condition => equals('keyDigest', digest);
export const notUsedSince = (day: number): Condition => absentOrAtMost('usedDay', day - 1);

// The due index.
export const fewerShardsThan = (shards: number): Condition => absentOrAtMost('shards', shards - 1);
