import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import type { KeyedStart } from '../../store/run-store.js';
import { type Debounce, periodMs } from '../../workflow/flow-control.js';
import type { Deps } from '../deps.js';
import { wakeRun } from '../wake.js';
import { limitKeyOf } from './limit-key.js';
import { pauseBefore, putLimited, startTries, startingAt, tooManyStarts } from './limited-start.js';
import { type AdmittedStart, admitStart, refuseStart } from './tenant-admission.js';
import { newHead, sameStart, type StartedRun, type StartRequest } from './new-head.js';

/** Default longest wait, in periods. */
const maxWaitPeriods = 10;

/**
 * Starts a run, or gives the run that waits for the last of several starts the input of this one.
 *
 * B1  The pointer of a debounce key and the head of a new run are written in one transaction, if the pointer is as it
 *     was read.
 * B2  A later start changes the input and the begin of the run, as long as it has not begun. Which idempotency key has
 *     led to which run is written in the same transaction, so that a repeat is found, and is no further start.
 * B3  A run begins only after it was closed to later starts, with the input that was read before.
 *
 * So each start is in effect exactly once, or followed by another one, and none is lost.
 * @throws EngineError like startRun
 */
export async function startDebounced(
  deps: Deps,
  request: StartRequest,
  debounce: Debounce,
  { runId, sentDigest }: { readonly runId: RunId; readonly sentDigest: string | undefined },
): Promise<StartedRun> {
  const known = request.key === undefined ? undefined : { keyedRunId: runId, sentDigest };
  const before = known === undefined ? undefined : await knownStart(deps, known);
  if (before !== undefined) return before;
  const start = await admitStart(deps, await newHead(deps, { ...request, runId, ...defined({ sentDigest }) }));
  const { head } = start;
  const key = debounce.key === undefined ? '' : limitKeyOf(debounce.key, head.input, 'the key of a debounce');
  for (let attempt = 0; attempt < startTries; attempt++) {
    await pauseBefore(deps, attempt);
    const again = known === undefined || attempt === 0 ? undefined : await knownStart(deps, known);
    if (again !== undefined) return again;
    const started = await tryOnce(deps, { start, key, debounce, known });
    if (started !== undefined) return started;
  }
  throw tooManyStarts();
}

/** Returns the answer to a start whose key is known. @throws EngineError `KEY_REUSED` */
async function knownStart(deps: Deps, { keyedRunId, sentDigest }: KeyedStart): Promise<StartedRun | undefined> {
  const known = await (await deps.store.limitedStarts()).readKnown(keyedRunId);
  if (known !== undefined) return sameStart(known, sentDigest);
  // The start may have come before the workflow was debounced.
  const head = await deps.store.heads.read(keyedRunId);
  return head === undefined ? undefined : sameStart(head, sentDigest);
}

interface Attempt {
  readonly start: AdmittedStart;
  /** Key of the debounce; undefined if the start is not debounced. */
  readonly key: string | undefined;
  readonly debounce: Debounce;
  readonly known: KeyedStart | undefined;
}

/** Returns undefined if what was read has changed meanwhile. */
async function tryOnce(deps: Deps, { start, key, debounce, known }: Attempt): Promise<StartedRun | undefined> {
  const { head, liveMax } = start;
  const { workflow, lane, tenant, createdAtMs, startAtMs: givenAtMs = createdAtMs } = head;
  const nowMs = deps.clock.nowMs();
  const waitMs = Math.max(periodMs(debounce.period), givenAtMs - createdAtMs);
  const startId = deps.random.hex(16);
  const digest = deps.digest(
    JSON.stringify([workflow, key ?? null, lane?.key ?? null, ...(tenant === undefined ? [] : [tenant])]),
  );
  const pointer =
    key === undefined ? undefined : await (await deps.store.limitedStarts()).readPointer({ kind: 'debounce', digest });
  const waiting = pointer === undefined ? undefined : await deps.store.heads.read(pointer.runId);
  if (waiting?.debounce !== undefined && waiting.status === 'running') {
    const { untilMs } = waiting.debounce;
    const startAtMs = Math.min(nowMs + waitMs, untilMs);
    const { deadlineAtMs, startAtMs: beforeMs = startAtMs } = waiting;
    const later = {
      startAtMs,
      debounce: { untilMs, startId },
      ...defined({
        input: head.input,
        deadlineAtMs: deadlineAtMs === undefined ? undefined : deadlineAtMs + startAtMs - beforeMs,
      }),
    };
    const isReplaced = await (await deps.store.limitedStarts()).replaceInput(waiting, later, known);
    return isReplaced ? { runId: waiting.runId, deduplicated: false, debounced: true } : undefined;
  }
  const untilMs = nowMs + Math.max(waitMs, maxWaitMs(debounce));
  const fresh = key === undefined ? head : { ...startingAt(head, nowMs + waitMs), debounce: { untilMs, startId } };
  const generation = pointer?.generation ?? 0;
  const pointers = key === undefined ? [] : [{ kind: 'debounce', digest, generation } as const];
  const put = await putLimited(deps, fresh, { pointers, known, liveMax });
  if (put === 'full') return refuseStart(start);
  if (put === 'moved') return undefined;
  if (put !== 'created') return sameStart(put, known?.sentDigest);
  await wakeRun(deps, head.runId);
  return { runId: head.runId, deduplicated: false };
}

function maxWaitMs({ period, maxWait }: Debounce): number {
  return maxWait === undefined ? maxWaitPeriods * periodMs(period) : periodMs(maxWait);
}
