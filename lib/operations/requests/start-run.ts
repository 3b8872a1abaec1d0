import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { canonicalJson } from '../../base/json.js';
import { lazy } from '../../base/lazy.js';
import { idempotencyKeyMaxBytes } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { InboxRecord, RunHead } from '../../history/records.js';
import type { Cap } from '../../store/run-store.js';
import type { Deps } from '../deps.js';
import { admitSignal, admitStart, refuseCap, refuseStart } from './tenant-admission.js';
import { wakeRun } from '../wake.js';
import { deliver } from './inbox.js';
import { newHead, sameStart, type StartedRun, type StartRequest } from './new-head.js';
import { signalRecord, type SignalRequest } from './signal-run.js';

/** Loads what limited starts need: most workflows do not limit theirs. */
export const loadLimitedStart = lazy(() => import('./limited-parts.js'));

export type { StartedRun, StartRequest } from './new-head.js';

/**
 * Starts a run: one put of its head, if absent. With a key the run id is a function of workflow and key, so the same
 * put finds the earlier start. A known key is answered before the schema is applied: what counts is what was sent.
 * @throws EngineError `WORKFLOW_NOT_FOUND`, `INPUT_INVALID` (details.issues), `PAYLOAD_TOO_LARGE`; `KEY_REUSED` if the
 * key was used before with another input, other tags, another delay, timeout or callback (details: digests of both)
 */
export async function startRun(deps: Deps, request: StartRequest): Promise<StartedRun> {
  const { key } = request;
  if (key === undefined) return startOnce(deps, request, deps.random.hex(16));
  checkKey(key);
  return startOnce(deps, request, keyedRunId(deps, request.workflow, key), startDigest(deps, request));
}

/** Starts a run under a key of the engine's own. The key identifies the start, so its content is not compared. */
export async function startUnderOwnKey(
  deps: Deps,
  request: StartRequest & { readonly key: string },
): Promise<StartedRun> {
  return startOnce(deps, request, keyedRunId(deps, request.workflow, request.key));
}

async function startOnce(deps: Deps, request: StartRequest, runId: RunId, sentDigest?: string): Promise<StartedRun> {
  const debounce = deps.app.workflows.get(request.workflow)?.flowControl?.debounce;
  if (debounce !== undefined)
    return (await loadLimitedStart()).startDebounced(deps, request, debounce, { runId, sentDigest });
  const known = request.key === undefined ? undefined : await deps.store.heads.read(runId);
  if (known !== undefined) return sameStart(known, sentDigest);
  const start = await admitStart(deps, await newHead(deps, { ...request, runId, ...defined({ sentDigest }) }));
  const { head, liveMax } = start;
  const found = await createRun(deps, head, { liveMax });
  if (found === 'full') return refuseStart(start);
  if (found !== undefined) return sameStart(found, sentDigest);
  await wakeRun(deps, runId);
  return { runId, deduplicated: false };
}

/** Returns true if the head is put together with its place among others. */
export function isLimited({ app }: Pick<Deps, 'app'>, { workflow, lane }: RunHead): boolean {
  return lane !== undefined || app.workflows.get(workflow)?.flowControl?.throttle !== undefined;
}

/** @throws EngineError `INPUT_INVALID` if starts of the workflow are debounced: they have no id and no signal */
export function checkNotDebounced({ app }: Pick<Deps, 'app'>, workflow: string): void {
  if (app.workflows.get(workflow)?.flowControl?.debounce !== undefined)
    throw new EngineError(
      'INPUT_INVALID',
      `starts of workflow "${workflow}" are debounced: they take no id and no signal`,
    );
}

/**
 * Puts the head of a run, with its place among others if its start is limited, and with a first signal. Returns the head
 * that exists if it was put before; `full`: more runs of the tenant are live than `liveMax` allows.
 * @throws EngineError `TOO_MANY_REQUESTS` (details: limit, max, retryAfterMs) if a cap is reached
 */
export async function createRun(
  deps: Deps,
  head: RunHead,
  more: {
    readonly signal?: InboxRecord;
    readonly liveMax?: number | undefined;
    readonly caps?: readonly Cap[] | undefined;
  } = {},
): Promise<RunHead | 'full' | undefined> {
  if (isLimited(deps, head)) return (await loadLimitedStart()).createLimited(deps, head, more);
  const writerId = deps.random.hex(16);
  const isAlone = more.signal === undefined && more.liveMax === undefined && more.caps === undefined;
  if (isAlone) {
    const { created, head: found } = await deps.store.heads.create(head, writerId);
    return created ? undefined : found;
  }
  const { created, head: found, full } = await deps.store.heads.createWith(head, writerId, more);
  if (created) return undefined;
  if (full !== undefined) return refuseCap(full);
  return found ?? (more.liveMax === undefined ? undefined : 'full');
}

/**
 * Starts the run with this key, or finds it, and sends it a signal, in one atomic write: either way the signal is there
 * before the run can end. A run that continues as another one passes it on.
 * @throws EngineError like startRun, and like a signal; `RUN_ENDED` if the run with this key has ended
 */
export async function startOrSignal(
  deps: Deps,
  request: StartRequest & { readonly key: string; readonly signal: SignalRequest },
): Promise<StartedRun> {
  checkKey(request.key);
  checkNotDebounced(deps, request.workflow);
  const runId = keyedRunId(deps, request.workflow, request.key);
  const sentDigest = startDigest(deps, request);
  const signal = signalRecord(deps, runId, request.signal);
  let known = await deps.store.heads.read(runId);
  if (known === undefined) {
    const start = await admitStart(deps, await newHead(deps, { ...request, runId, sentDigest }));
    const { head, liveMax } = start;
    const found = await createRun(deps, head, { signal, liveMax });
    if (found === 'full') return refuseStart(start);
    if (found === undefined) {
      await wakeRun(deps, runId);
      return { runId, deduplicated: false };
    }
    known = found;
  }
  await admitSignal(deps, request.signal.payload);
  sameStart(known, sentDigest);
  if ((await deliver(deps, signal)).accepted) return { runId, deduplicated: true };
  throw new EngineError('RUN_ENDED', 'the run with this key has ended and takes no signal');
}

/** Returns the run id of a start with a key: equal keys of two tenants are different runs. */
function keyedRunId({ tokens, caller }: Deps, workflow: string, key: string): RunId {
  return tokens.keyedRunId(workflow, key, caller?.tenant);
}

/** Computes a digest of what was sent, before a schema is applied: a deployment between two sends must not matter. */
function startDigest(deps: Deps, request: StartRequest): string {
  const { workflow, input, tags, delayMs, timeoutMs, concurrencyKey, callback } = request;
  const sent = {
    ...{ input: input ?? null, tags: tags ?? {}, delay: delayMs ?? null, timeout: timeoutMs ?? null },
    // Left out if undefined, so that the digests of earlier versions stay.
    ...defined({ concurrencyKey, callback: callback && { ...callback } }),
  };
  return deps.tokens.sentDigest(`start ${workflow}\n${canonicalJson(sent)}`);
}

function checkKey(key: string): void {
  checkName(key, 'an idempotency key', { maxBytes: idempotencyKeyMaxBytes });
}
