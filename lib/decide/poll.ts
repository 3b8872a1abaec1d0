import { pollHintMaxMs, pollIntervalMaxMs, pollIntervalMinMs, taskMissingGraceMs } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { StartedToken } from '../history/records.js';

/** Shortest duration of a claim, which costs one write. */
const pollClaimMs = 60_000;
/** Due times are rounded up to this, so that one invocation reads many tasks. */
const pollTickMs = 1_000;
/** Interval of the reads of a task whose server has proved that it pushes. */
export const backstopMinMs = 60_000;
export const backstopMaxMs = 6 * 3_600_000;
/** Reads that follow soon after a push said that the task has ended and a read did not: 1, 2, 4 … 32 s later. */
const looksAfterPush = 6;

/** The fields of a token that determine when to read its task. */
export type PolledToken = Pick<StartedToken, 'createdAtMs' | 'deadlineAtMs' | 'pollHintMs' | 'pushedAtMs'>;

/** Returns a tenth of the task's age, at least 5 s, at most 5 min: the lag stays in proportion to the wait. */
export function pollIntervalMs(ageMs: number): number {
  return clamp(ageMs / 10, pollIntervalMinMs, pollIntervalMaxMs);
}

/**
 * Returns the time from a good read to the next: if a push has come, a third of the task's age, at least a minute, at
 * most 6 h, since pushes are lost now and then.
 */
export function readIntervalMs({ createdAtMs, pushedAtMs }: PolledToken, nowMs: EpochMs): number {
  const ageMs = nowMs - createdAtMs;
  return pushedAtMs === undefined ? pollIntervalMs(ageMs) : clamp(ageMs / 3, backstopMinMs, backstopMaxMs);
}

/** Returns a server's hint within our limits; 0 if it is missing, negative or not finite. */
export function pollHint(givenMs: number | undefined): number {
  return givenMs === undefined || !Number.isFinite(givenMs) ? 0 : clamp(Math.ceil(givenMs), 0, pollHintMaxMs);
}

/** Returns when to read the task after a good read: never sooner than the server asks, never past the deadline. */
export function nextPollAtMs(token: PolledToken, nowMs: EpochMs, hintMs = 0): EpochMs {
  return beforeDeadline(token, onTick(nowMs + Math.max(readIntervalMs(token, nowMs), pollHint(hintMs))));
}

/**
 * Returns when to read the task after the `errors`-th failing read in a row: 10, 20, 40 s … up to 5 min, and never
 * sooner than after a good read without pushes, or than the server asks. Pushes change nothing: the failing read may be
 * the one that a push has asked for.
 */
export function nextPollAfterErrorMs(token: PolledToken, nowMs: EpochMs, errors: number, retryAfterMs = 0): EpochMs {
  const backoffMs = Math.min(pollIntervalMinMs * 2 ** Math.min(errors, 10), pollIntervalMaxMs);
  const usualMs = Math.max(pollIntervalMs(nowMs - token.createdAtMs), pollHint(token.pollHintMs));
  return beforeDeadline(token, onTick(nowMs + Math.max(backoffMs, usualMs, pollHint(retryAfterMs))));
}

/**
 * Returns when to read a task again whose server fails or has asked for a pause until `untilMs`: no sooner than after a
 * good read without pushes, since each read that is put off costs a write.
 */
export function nextPollOfRestingMs(token: PolledToken, nowMs: EpochMs, untilMs: EpochMs): EpochMs {
  return Math.max(untilMs, onTick(nowMs + pollIntervalMs(nowMs - token.createdAtMs)));
}

/**
 * Returns when to read a task again that its server does not know: soon while it is young, since the replicas may catch
 * up or the task was lost at once; otherwise as after any failing read.
 */
export function nextLookAtMs(token: PolledToken, nowMs: EpochMs, errors: number): EpochMs {
  if (nowMs - token.createdAtMs >= 2 * taskMissingGraceMs) return nextPollAfterErrorMs(token, nowMs, errors);
  return beforeDeadline(token, onTick(nowMs + pollIntervalMinMs));
}

/** Returns until when a worker claims a task before it reads it: one write covers at least a minute of reads. */
export function claimUntilMs(token: PolledToken, nowMs: EpochMs): EpochMs {
  return beforeDeadline(token, Math.max(nowMs + pollClaimMs, nextPollAtMs(token, nowMs, token.pollHintMs)));
}

/**
 * Returns the token as a read regards it. After a push that said that the task has ended, it is read as if none had
 * come: should this read not find the end, the next one must not wait for the backstop.
 */
export function asPolled(token: StartedToken, saidEnded: boolean): StartedToken {
  if (!saidEnded) return token;
  const { pushedAtMs: ignored, ...polled } = token;
  return polled;
}

/**
 * Returns when to read a task again that runs although a push said that it has ended, after `looks` further reads:
 * another replica of its server may not know of the end yet. Infinity: as usual.
 */
export function lookAgainAtMs(nowMs: EpochMs, looks: number): EpochMs {
  return looks < looksAfterPush ? nowMs + 1_000 * 2 ** looks : Infinity;
}

/**
 * Returns for how long the server now keeps the task; undefined if the item already says so. A task that is found after
 * its time counts as kept for ever: the time that its server names then means nothing.
 */
export function changedTtlMs(
  token: StartedToken,
  saidMs: number | null | undefined,
  nowMs: EpochMs,
): number | undefined {
  const forEverMs = Number.MAX_SAFE_INTEGER;
  const knownMs = token.ttlMs ?? token.handle.ttlMs ?? forEverMs;
  const promisedMs = saidMs === undefined ? knownMs : (saidMs ?? forEverMs);
  const isOutlived = nowMs - (token.startedAtMs ?? token.createdAtMs) >= promisedMs;
  const ttlMs = isOutlived ? forEverMs : promisedMs;
  return ttlMs === knownMs ? undefined : ttlMs;
}

function beforeDeadline(token: PolledToken, atMs: EpochMs): EpochMs {
  return Math.min(token.deadlineAtMs, atMs);
}

/** Rounds up to a tick, so that one invocation reads many tasks. */
function onTick(atMs: EpochMs): EpochMs {
  return Math.ceil(atMs / pollTickMs) * pollTickMs;
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
