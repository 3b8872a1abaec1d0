import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { isRunId, type RunId } from '../../base/ids.js';
import { requestIdMaxChars } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { InboxRecord, InboxRequest } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { runNotFound } from '../load-run.js';
import { wakeRun, wakeRunFor } from '../wake.js';

/** How long a request waits for the continuation of its run, and the interval between two reads. */
const nextRunPatienceMs = 8_000;
const nextRunLookMs = 250;

/** `accepted: false`: the run has ended, or its outcome is fixed. */
export interface Accepted {
  readonly accepted: boolean;
}

/**
 * Sends a request to a run, due now.
 * @throws EngineError `RUN_NOT_FOUND`, `KEY_REUSED`, `STORE_UNAVAILABLE`
 */
export async function send(
  deps: Deps,
  runId: RunId,
  { sentDigest, ...request }: InboxRequest & { readonly inboxId: string; readonly sentDigest?: string | undefined },
): Promise<Accepted> {
  const atMs = deps.clock.nowMs();
  return deliver(deps, {
    runId: checkRunId(runId),
    atMs,
    dueAtMs: atMs,
    ...request,
    ...defined({ sentDigest, by: deps.caller?.id }),
  });
}

/**
 * Puts a request into the inbox of a run or its successor.
 * @throws EngineError `RUN_NOT_FOUND`, `KEY_REUSED`; `STORE_UNAVAILABLE` while a run is about to continue as a new one
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
      throw new EngineError('STORE_UNAVAILABLE', 'the run is about to continue as a new one');
  }
}

/**
 * Puts a request into the inbox of a run or its successor, and wakes that run. The head is read first, strongly
 * consistent: the number of requests it counts places this one after all that were accepted before it was sent.
 * `next_not_found`: the run has ended and its successor did not appear in time.
 * @throws EngineError `KEY_REUSED` for an id under which something else was sent
 */
export async function putInInbox(
  deps: Deps,
  record: InboxRecord,
): Promise<'accepted' | 'run_ended' | 'run_not_found' | 'next_not_found'> {
  const untilMs = deps.clock.nowMs() + nextRunPatienceMs;
  let isWoken = false;
  for (let { runId } = record, before: RunId | undefined; ;) {
    const head = await deps.store.heads.glance(runId);
    if (head === undefined) {
      if (before === undefined) return 'run_not_found';
      if (deps.clock.nowMs() >= untilMs) return 'next_not_found';
      // The process that was to create the successor may have died.
      if (!isWoken) await wakeRun(deps, before);
      isWoken = true;
      await deps.delay(nextRunLookMs);
    } else if (head.status === 'running') {
      const answer = await deps.store.inbox.put({ ...record, runId, position: head.inboxCount });
      if (answer === 'reused') throw keyReused(record);
      if (answer === 'accepted' || answer === 'known') {
        await wakeRunFor(deps, runId, { inboxId: record.inboxId });
        return 'accepted';
      }
      // Read the head again: the run has ended meanwhile, and may have a successor.
    } else {
      const known = await deps.store.inbox.known({ ...record, runId });
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

/** Returns the given id of a request, or a random one. @throws EngineError `INPUT_INVALID` */
export function requestIdOf(deps: Deps, given: string | undefined): string {
  if (given === undefined) return deps.random.hex(16);
  checkName(given, 'the id of a request', { maxChars: requestIdMaxChars });
  return given;
}

/** Returns the id if it has the form of a run id. @throws EngineError `RUN_NOT_FOUND` */
export function checkRunId(runId: RunId): RunId {
  if (isRunId(runId)) return runId;
  throw runNotFound();
}
