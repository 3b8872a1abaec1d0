import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { isRunId, type RunId } from '../../base/ids.js';
import { canonicalJson, cutUtf8, type JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import {
  failureTextBytes,
  nextRunLookMs,
  nextRunPatienceMs,
  requestIdMaxChars,
  signalMaxBytes,
  signalNameMaxChars,
} from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { InboxRecord, InboxRequest } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { wakeRun, wakeRunFor } from '../wake.js';

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
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`; `KEY_REUSED` when the request id was used with another reason or kind
 */
export async function requestStop(deps: Deps, request: StopRequest): Promise<Accepted> {
  if (request.requestId === undefined) return askToStop(deps, request);
  await checkOtherKind(deps, request.runId, request.kind, idOf(deps, request.requestId));
  return askToStop(deps, request, deps.tokens.sentDigest(`stop\n${canonicalJson(request.reason ?? null)}`));
}

/** The same under an id of the engine's own, which says all. */
export async function askToStop(
  deps: Deps,
  { runId, kind, requestId, reason }: StopRequest,
  sentDigest?: string,
): Promise<Accepted> {
  const why = reason === undefined ? {} : { reason: cutUtf8(reason.toWellFormed(), failureTextBytes) };
  return send(deps, runId, `${kind}-${idOf(deps, requestId)}`, { kind, ...why }, sentDigest);
}

/** A cancel and a terminate of one id are two requests. @throws EngineError `KEY_REUSED` */
async function checkOtherKind(deps: Deps, runId: RunId, kind: StopRequest['kind'], id: string): Promise<void> {
  const other = kind === 'cancel' ? 'terminate' : 'cancel';
  const isUsed = await deps.store.isInInbox(checkRunId(runId), `${other}-${id}`);
  if (isUsed)
    throw new EngineError('KEY_REUSED', `the request id was used before to ${other} this run`, { details: { runId } });
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
  checkName(name, 'the name of a signal', { maxChars: signalNameMaxChars });
  checkJsonBytes('the payload of the signal is', jsonBytes(payload), signalMaxBytes);
  const atMs = deps.clock.nowMs();
  // A key is one signal of one name, and no other kind of request can take its place. The length keeps name and key apart.
  const inboxId = `signal-${name.length}-${name}-${idOf(deps, key)}`;
  const content = {
    ...defined({
      payload,
      sentDigest: key === undefined ? undefined : deps.tokens.sentDigest(`signal\n${canonicalJson(payload ?? null)}`),
    }),
  };
  return { runId, inboxId, kind: 'signal', name, ...content, atMs, dueAtMs: atMs };
}

async function send(
  deps: Deps,
  runId: RunId,
  inboxId: string,
  request: InboxRequest,
  sentDigest?: string,
): Promise<Accepted> {
  const atMs = deps.clock.nowMs();
  const sent = sentDigest === undefined ? {} : { sentDigest };
  return deliver(deps, { runId: checkRunId(runId), inboxId, atMs, dueAtMs: atMs, ...request, ...sent });
}

/**
 * Puts a request into the inbox of a run, or of the one that it goes on as.
 * @throws EngineError `RUN_NOT_FOUND`, `KEY_REUSED`; `STORE_UNAVAILABLE` while a run is about to go on as another one
 */
export async function deliver(deps: Deps, record: InboxRecord): Promise<Accepted> {
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
 * @throws EngineError `KEY_REUSED` for an id under which something else was sent
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
      if (answer === 'reused') throw keyReused(record);
      if (answer === 'accepted' || answer === 'known') {
        await wakeRunFor(deps, runId, { inboxId: record.inboxId });
        return 'accepted';
      }
      // It has ended since: look again what it goes on as.
    } else {
      const known = await deps.store.knownRequest({ ...record, runId });
      if (known === 'reused') throw keyReused(record);
      if (known === 'known') return 'accepted';
      if (head.nextRunId === undefined) return 'run_ended';
      [before, runId] = [runId, head.nextRunId];
    }
  }
}

function keyReused({ runId, kind }: InboxRecord): EngineError {
  return new EngineError('KEY_REUSED', `the key was used before for another ${kind} of this run`, {
    details: { runId },
  });
}

function idOf(deps: Deps, given: string | undefined): string {
  if (given === undefined) return deps.random.hex(16);
  checkName(given, 'the id of a request', { maxChars: requestIdMaxChars });
  return given;
}

function checkRunId(runId: RunId): RunId {
  if (isRunId(runId)) return runId;
  throw runNotFound();
}

function runNotFound(): EngineError {
  return new EngineError('RUN_NOT_FOUND', 'no run has this id');
}
