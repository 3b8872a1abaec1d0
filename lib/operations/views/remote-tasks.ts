import { defined } from '../../base/defined.js';
import pLimit from 'p-limit';
import { EngineError, isUnreadable, storedError, type StoredError } from '../../base/errors.js';
import { isRunId, isWaitId, type RunId, type WaitId } from '../../base/ids.js';
import { externalPageRuns, runsReadInParallel } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { isYoung } from '../../decide/sighting.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { listRuns } from './read-runs.js';

/**
 * `open`: a run waits for it. All others have lost their wait: `cancelling` the server is still to be asked, `cancelled` it
 * was, `left` the call leaves it, `refused` and `gaveUp` as in the record of the cancel. Whether the task has ended since
 * is not known.
 */
export type RemoteTaskState = 'open' | 'cancelling' | 'cancelled' | 'left' | 'refused' | 'gaveUp';

export interface RemoteTaskView {
  readonly runId: RunId;
  readonly waitId: WaitId;
  readonly server: string;
  readonly taskId: string;
  readonly state: RemoteTaskState;
  /** Of the task's start, or of the end of its wait. */
  readonly sinceMs: EpochMs;
}

export interface RemoteTaskQuery {
  /** Only tasks that nobody waits for and that may be running: left, refused, given up. Else those of runs under way. */
  readonly orphaned: boolean;
  readonly server?: string;
  /** Of orphans: 1 to 100. */
  readonly limit: number;
  /** From the page before. */
  readonly after?: string;
}

export interface RemoteTaskPage {
  readonly tasks: readonly RemoteTaskView[];
  /** There may be more. A page can be empty and still have a next one. */
  readonly nextAfter?: string;
}

/**
 * Remote tasks by server, task and wait. Orphans have an index of their own, oldest first; the others are read from the
 * runs under way, 25 runs a page, the newest run first.
 * @throws EngineError `INPUT_INVALID` for an `after` that is not one of ours
 */
export async function listRemoteTasks(deps: Deps, query: RemoteTaskQuery): Promise<RemoteTaskPage> {
  const { tokens, nextAfter } = await (query.orphaned ? readOrphans : readOpen)(deps, query);
  const tasks = tokens
    .flatMap(toView)
    .filter((task) => query.server === undefined || task.server === query.server)
    .filter(({ state }) => !query.orphaned || state === 'left' || state === 'refused' || state === 'gaveUp');
  return { tasks, ...defined({ nextAfter }) };
}

interface TokenPage {
  readonly tokens: readonly TokenRecord[];
  readonly nextAfter?: string;
}

async function readOrphans(deps: Deps, { limit, after }: RemoteTaskQuery): Promise<TokenPage> {
  const { rows, cursor } = await deps.store.listOrphans(limit, after);
  const reads = pLimit(runsReadInParallel);
  const tokens = await Promise.all(
    rows.map(({ runId, waitId }) => reads(() => readable(deps, runId, () => deps.store.readToken(runId, waitId)))),
  );
  return {
    tokens: tokens.filter((token) => token !== undefined),
    ...defined({ nextAfter: cursor }),
  };
}

async function readOpen(deps: Deps, { after }: RemoteTaskQuery): Promise<TokenPage> {
  const page = await listRuns(deps, {
    status: 'running',
    limit: externalPageRuns,
    ...defined({ cursor: after }),
  });
  const reads = pLimit(runsReadInParallel);
  const tokens = await Promise.all(
    page.runs.map(({ runId }) => reads(() => readable(deps, runId, () => deps.store.readTokens(runId)))),
  );
  return {
    tokens: tokens.flatMap((ofRun) => ofRun ?? []),
    ...defined({ nextAfter: page.cursor }),
  };
}

/** Undefined, with a warning, for what this deployment cannot read. */
async function readable<Value>(deps: Deps, runId: RunId, read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    deps.log.warn('run skipped: it cannot be read', { runId, code: error.code, reason: error.message });
    return undefined;
  }
}

function toView(token: TokenRecord): readonly RemoteTaskView[] {
  const { runId, waitId, handle, settlement, startedAtMs, createdAtMs } = token;
  const state = stateOf(token);
  if (handle === undefined || state === undefined) return [];
  const { server, taskId } = handle;
  return [{ runId, waitId, server, taskId, state, sinceMs: settlement?.atMs ?? startedAtMs ?? createdAtMs }];
}

/** Undefined: the task has ended, as far as we know. */
function stateOf({ settlement, cancel, dueAtMs }: TokenRecord): RemoteTaskState | undefined {
  switch (settlement?.outcome.kind) {
    case undefined:
      return 'open';
    case 'completed':
    case 'failed':
      return undefined;
    case 'timed_out':
    case 'abandoned':
    case 'run_ended':
      if (cancel !== undefined) return cancel.kind === 'sent' ? 'cancelled' : cancel.kind;
      return dueAtMs === undefined ? 'left' : 'cancelling';
  }
}

export type CancelRemoteResult =
  | { readonly cancelled: true }
  | { readonly cancelled: false; readonly reason: 'refused' | 'unanswered'; readonly error: StoredError };

/**
 * Asks the server once, for an operator, to cancel a remote task, whether a run waits for it or not. A run that does finds
 * out by its next read.
 * @throws EngineError `REMOTE_TASK_NOT_FOUND`
 */
export async function cancelRemoteTask(deps: Deps, runId: RunId, waitId: WaitId): Promise<CancelRemoteResult> {
  const { token, handle } = await readTask(deps, runId, waitId);
  const { server } = handle;
  if (!Object.hasOwn(deps.app.servers, server)) {
    const error = storedError('SERVER_NOT_FOUND', `no server is named "${server}" in this deployment`);
    return { cancelled: false, reason: 'unanswered', error };
  }
  const reply = await deps.transports.get(server).cancel(handle);
  const atMs = deps.clock.nowMs();
  deps.log.info('remote cancel asked for by an operator', { runId, waitId, server, came: reply.kind });
  if (reply.kind === 'retry' || (reply.kind === 'gone' && isYoung(token, atMs)))
    return { cancelled: false, reason: 'unanswered', error: reply.error };
  const isRefused = reply.kind === 'refused';
  if (token.settlement !== undefined)
    await deps.store.recordCancel(runId, waitId, { kind: isRefused ? 'refused' : 'sent', atMs });
  if (isRefused) return { cancelled: false, reason: 'refused', error: reply.error };
  if (token.settlement === undefined) await pollRemoteTask(deps, runId, waitId);
  return { cancelled: true };
}

/**
 * Has a remote task read now instead of at its next instant. False: nobody waits for it any more.
 * @throws EngineError `REMOTE_TASK_NOT_FOUND`
 */
export async function pollRemoteTask(
  deps: Deps,
  runId: RunId,
  waitId: WaitId,
): Promise<{ readonly accepted: boolean }> {
  const { token, handle } = await readTask(deps, runId, waitId);
  if (token.settlement !== undefined) return { accepted: false };
  await deps.queues.sendWork({ kind: 'poll', runId, waitId, server: handle.server }, 0);
  return { accepted: true };
}

async function readTask(
  deps: Deps,
  runId: RunId,
  waitId: WaitId,
): Promise<{ readonly token: TokenRecord; readonly handle: RemoteTaskHandle }> {
  const token = isRunId(runId) && isWaitId(waitId) ? await deps.store.readToken(runId, waitId) : undefined;
  if (token?.handle === undefined)
    throw new EngineError('REMOTE_TASK_NOT_FOUND', 'no remote task is known for this wait of this run');
  return { token, handle: token.handle };
}
