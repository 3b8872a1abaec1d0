import { storedError, type StoredError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { taskMissingGraceMs, badReadsMax } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { Settlement, StartedToken, TokenRecord } from '../history/records.js';
import type { BadReads } from '../history/remote-end.js';

/** Bad reads that are closer together count as one: an extra read on request proves nothing new. */
export const badReadsGapMs = 10_000;

type PolledTask = Pick<StartedToken, 'handle' | 'createdAtMs' | 'startedAtMs' | 'ttlMs' | 'sightings'>;

export type AfterBadRead =
  /** The wait goes on, and `sightings` must be stored. */
  | { readonly kind: 'open'; readonly sightings?: BadReads }
  /** The wait ends with this error, since the task will never end for us. */
  | { readonly kind: 'over'; readonly error: StoredError };

/** Decides about a task that its server does not know: not yet (its replicas may lag), no longer, or never for us. */
export function afterMissing(task: PolledTask, said: StoredError, nowMs: EpochMs): AfterBadRead {
  const ageMs = nowMs - (task.startedAtMs ?? task.createdAtMs);
  const ttlMs = task.ttlMs ?? task.handle.ttlMs;
  // Our own clock, from when the reply came: later than the server's count began, so never too early.
  if (ttlMs !== undefined && ageMs >= ttlMs) {
    const message = `"${task.handle.server}" kept the remote task for ${ttlMs / 1000} s and no longer has it`;
    return { kind: 'over', error: storedError('REMOTE_TASK_EXPIRED', message, detailsOf(task, { ttlMs })) };
  }
  if (ageMs < taskMissingGraceMs) return { kind: 'open' };
  const sightings = oneMore(task.sightings, 'missing', nowMs);
  if (sightings.count < badReadsMax) return { kind: 'open', sightings };
  const message = `"${task.handle.server}" no longer knows the remote task: ${said.message}`;
  return { kind: 'over', error: storedError('REMOTE_TASK_LOST', message, detailsOf(task, { state: 'missing' })) };
}

/** The fields of a token from which the age of its task follows. */
type TaskAge = Pick<TokenRecord, 'createdAtMs' | 'startedAtMs'> & {
  readonly settlement?: Pick<Settlement, 'atMs'>;
};

/** Returns true so soon after the start, as far as that is known, that a missing task proves nothing. */
export function isYoung({ startedAtMs, settlement, createdAtMs }: TaskAge, nowMs: EpochMs): boolean {
  // Items of earlier versions lack `startedAtMs` for a start that was answered after its wait had ended.
  return nowMs - (startedAtMs ?? settlement?.atMs ?? createdAtMs) < taskMissingGraceMs;
}

/** Decides about a reply that is too large to be read or stored; it will not shrink. */
export function afterUnfit(task: PolledTask, said: StoredError, nowMs: EpochMs): AfterBadRead {
  const sightings = oneMore(task.sightings, 'unfit', nowMs);
  if (sightings.count < badReadsMax) return { kind: 'open', sightings };
  const message = `the reply of "${task.handle.server}" about the remote task cannot be read: ${said.message}`;
  return { kind: 'over', error: storedError('PAYLOAD_TOO_LARGE', message, detailsOf(task, said.details ?? {})) };
}

function oneMore(before: BadReads | undefined, of: BadReads['of'], nowMs: EpochMs): BadReads {
  if (before?.of !== of) return { of, count: 1, atMs: nowMs };
  return nowMs - before.atMs < badReadsGapMs ? before : { of, count: before.count + 1, atMs: nowMs };
}

function detailsOf({ handle }: PolledTask, details: Readonly<Record<string, JsonValue>>): Record<string, JsonValue> {
  return { server: handle.server, taskId: handle.taskId, phase: 'run', ...details };
}
