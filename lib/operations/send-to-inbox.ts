import { EngineError } from '../base/errors.js';
import { isRunId, type RunId } from '../base/ids.js';
import { cutUtf8, type JsonValue } from '../base/json.js';
import { checkJsonBytes, jsonBytes } from '../base/json-limit.js';
import {
  failureTextBytes,
  nextRunLookMs,
  nextRunPatienceMs,
  requestIdMaxChars,
  signalMaxBytes,
} from '../base/limits.js';
import type { InboxRecord, InboxRequest } from '../store/records.js';
import type { Deps } from './deps.js';
import { wakeRun, wakeRunFor } from './wake.js';

export interface StopRequest {
  readonly runId: RunId;
  /** `cancel`: the workflow is told at its waits and may clean up. `terminate`: it is not asked. */
  readonly kind: 'cancel' | 'terminate';
  /** A repeat with the same id is the same request. Default: a random one. */
  readonly requestId?: string;
  readonly reason?: string;
}

/** `accepted: false`: the run has ended, or its outcome is fixed. */
export interface Accepted {
  readonly accepted: boolean;
}

/**
 * Asks a run to stop. Works from any replica: the request is an inbox item, and the run's own turn acts on it.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`
 */
export async function requestStop(deps: Deps, { runId, kind, requestId, reason }: StopRequest): Promise<Accepted> {
  const why = reason === undefined ? {} : { reason: cutUtf8(reason.toWellFormed(), failureTextBytes) };
  return send(deps, runId, `${kind}-${idOf(deps, requestId)}`, { kind, ...why });
}

/**
 * Pauses a run (for at most 24 h), resumes it, or tries what waits for its next attempt at once.
 * @throws EngineError `RUN_NOT_FOUND`
 */
export async function requestControl(
  deps: Deps,
  runId: RunId,
  kind: 'pause' | 'resume' | 'retryNow',
): Promise<Accepted> {
  return send(deps, runId, `${kind}-${idOf(deps, undefined)}`, { kind });
}

export interface SignalRequest {
  /** 1 to 128 characters. */
  readonly name: string;
  /** At most 256 KiB. */
  readonly payload?: JsonValue;
  /** Two signals of one name with the same key are one signal of the run. Default: a random one. */
  readonly key?: string;
}

/**
 * Gives a run a signal. It stays until a wait takes it; one that was accepted is in the history before the run can end.
 * A repeated key is accepted again, also after the end of the run, and changes nothing.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`
 */
export async function signalRun(deps: Deps, runId: RunId, signal: SignalRequest): Promise<Accepted> {
  return deliver(deps, signalRecord(deps, checkRunId(runId), signal));
}

/** The inbox item of a signal. */
export function signalRecord(deps: Deps, runId: RunId, { name, payload, key }: SignalRequest): InboxRecord {
  if (name === '' || name.length > 128 || !name.isWellFormed())
    throw new EngineError('INPUT_INVALID', 'the name of a signal must be 1 to 128 characters');
  checkJsonBytes('the payload of the signal is', jsonBytes(payload), signalMaxBytes);
  const atMs = deps.clock.nowMs();
  // A key is one signal of one name, and no other kind of request can take its place. The length keeps name and key apart.
  const inboxId = `signal-${name.length}-${name}-${idOf(deps, key)}`;
  return { runId, inboxId, kind: 'signal', name, ...(payload === undefined ? {} : { payload }), atMs, dueAtMs: atMs };
}

async function send(deps: Deps, runId: RunId, inboxId: string, request: InboxRequest): Promise<Accepted> {
  const atMs = deps.clock.nowMs();
  return deliver(deps, { runId: checkRunId(runId), inboxId, atMs, dueAtMs: atMs, ...request });
}

async function deliver(deps: Deps, record: InboxRecord): Promise<Accepted> {
  switch (await putInInbox(deps, record)) {
    case 'accepted':
      return { accepted: true };
    case 'run_ended':
      return { accepted: false };
    case 'run_not_found':
      throw runNotFound();
    case 'next_not_found':
      throw new EngineError('STORE_UNAVAILABLE', 'the run is about to go on as a new one');
  }
}

/**
 * Puts a request into the inbox of a run, or of the one that it goes on as, and wakes it. The head is read first, strongly
 * consistent: how many requests it counts is the place of this one behind all that were accepted before it was sent.
 * `next_not_found`: the run has ended and the next one is not there, though it was waited for.
 */
export async function putInInbox(
  deps: Deps,
  record: InboxRecord,
): Promise<'accepted' | 'run_ended' | 'run_not_found' | 'next_not_found'> {
  const untilMs = deps.clock.nowMs() + nextRunPatienceMs;
  let isWoken = false;
  for (let { runId } = record, before: RunId | undefined; ;) {
    const head = await deps.store.glanceAtRun(runId);
    if (head === undefined) {
      if (before === undefined) return 'run_not_found';
      if (deps.clock.nowMs() >= untilMs) return 'next_not_found';
      // Whoever was to make it may be gone.
      if (!isWoken) await wakeRun(deps, before);
      isWoken = true;
      await deps.delay(nextRunLookMs);
    } else if (head.status === 'running') {
      const answer = await deps.store.putInbox({ ...record, runId, position: head.inboxCount });
      if (answer === 'accepted' || answer === 'known') {
        await wakeRunFor(deps, runId, { inboxId: record.inboxId });
        return 'accepted';
      }
      // It has ended since: look again what it goes on as.
    } else if (await deps.store.isInInbox(runId, record.inboxId)) return 'accepted';
    else if (head.nextRunId === undefined) return 'run_ended';
    else [before, runId] = [runId, head.nextRunId];
  }
}

function idOf(deps: Deps, given: string | undefined): string {
  if (given === undefined) return deps.random.hex(16);
  if (given !== '' && given.length <= requestIdMaxChars && given.isWellFormed()) return given;
  throw new EngineError(
    'INPUT_INVALID',
    `the id of a request must be 1 to ${requestIdMaxChars} characters, got ${given.length}`,
  );
}

function checkRunId(runId: RunId): RunId {
  if (isRunId(runId)) return runId;
  throw runNotFound();
}

function runNotFound(): EngineError {
  return new EngineError('RUN_NOT_FOUND', 'no run has this id');
}
