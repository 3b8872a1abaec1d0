import { defined } from '../../base/defined.js';
import pLimit from 'p-limit';
import type { RunId, WaitId } from '../../base/ids.js';
import { externalPageRuns, runsReadInParallel } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { skipUnreadable } from '../skip-unreadable.js';
import { listRuns } from './list-runs.js';
import { isTaskStale } from '../stale-task.js';
import { type TaskView, toTaskView } from './task-view.js';

/**
 * `open`: a run waits for the task. In all other states its wait has ended: `cancelling`: the server is still to be
 * asked, `cancelled`: it was asked, `left`: the call leaves it running, `refused` and `gaveUp`: as recorded for the
 * cancel. It is unknown whether the task has ended since.
 */
export type RemoteTaskState = 'open' | 'cancelling' | 'cancelled' | 'left' | 'refused' | 'gaveUp';

export interface RemoteTaskView {
  readonly runId: RunId;
  readonly waitId: WaitId;
  readonly server: string;
  readonly taskId: string;
  readonly state: RemoteTaskState;
  /** Start of the task, or end of its wait. */
  readonly sinceMs: EpochMs;
  /** What reads have shown of the task. */
  readonly task?: TaskView;
  /** Whether the open task has not changed for so long that it may never end. */
  readonly stale?: true;
}

export interface RemoteTaskQuery {
  /**
   * Only tasks that are not waited for and may be running: left, refused, given up. Otherwise those of runs under way.
   */
  readonly orphaned: boolean;
  readonly server?: string;
  /** Only open tasks that have not changed for `staleAfterMs`. Not with `orphaned`. Default false. */
  readonly stale?: boolean;
  /** Default: `staleAfter` of the server, or an hour. */
  readonly staleAfterMs?: number;
  /** Page size for orphans: 1 to 100. */
  readonly limit: number;
  /** `nextAfter` of the previous page. */
  readonly after?: string;
}

export interface RemoteTaskPage {
  readonly tasks: readonly RemoteTaskView[];
  /** Set if there may be more. A page can be empty and still have a next one. */
  readonly nextAfter?: string;
}

/**
 * Lists remote tasks by server, task and wait. Orphans have an index of their own, oldest first; the others are read
 * from the runs under way, 25 runs a page, the newest run first.
 * @throws EngineError `INPUT_INVALID` for an `after` that no page has returned
 */
export async function listRemoteTasks(deps: Deps, query: RemoteTaskQuery): Promise<RemoteTaskPage> {
  const { tokens, nextAfter } = query.orphaned
    ? await readOrphans(deps, query)
    : await readOpenTokens(deps, query.after);
  const tasks = tokens
    .filter((token) => query.stale !== true || isTaskStale(deps, token, query.staleAfterMs))
    .flatMap((token) => toView(deps, token))
    .filter((task) => query.server === undefined || task.server === query.server)
    .filter(({ state }) => !query.orphaned || state === 'left' || state === 'refused' || state === 'gaveUp');
  return { tasks, ...defined({ nextAfter }) };
}

interface TokenPage {
  readonly tokens: readonly TokenRecord[];
  readonly nextAfter?: string;
}

async function readOrphans(deps: Deps, { limit, after }: RemoteTaskQuery): Promise<TokenPage> {
  const { rows, cursor } = await deps.store.lists.orphans(limit, after);
  const reads = pLimit(runsReadInParallel);
  const tokens = await Promise.all(
    rows.map(({ runId, waitId }) =>
      reads(() => skipUnreadable(deps, 'run', { runId }, () => deps.store.tokens.read(runId, waitId))),
    ),
  );
  return {
    tokens: tokens.filter((token) => token !== undefined),
    ...defined({ nextAfter: cursor }),
  };
}

/** Reads the tokens of 25 runs under way, the newest run first. */
export async function readOpenTokens(deps: Deps, after: string | undefined): Promise<TokenPage> {
  const page = await listRuns(deps, {
    status: 'running',
    limit: externalPageRuns,
    ...defined({ cursor: after }),
  });
  const reads = pLimit(runsReadInParallel);
  const tokens = await Promise.all(
    page.runs.map(({ runId }) =>
      reads(() => skipUnreadable(deps, 'run', { runId }, () => deps.store.tokens.readAll(runId))),
    ),
  );
  return {
    tokens: tokens.flatMap((ofRun) => ofRun ?? []),
    ...defined({ nextAfter: page.cursor }),
  };
}

function toView(deps: Deps, token: TokenRecord): readonly RemoteTaskView[] {
  const { runId, waitId, handle, settlement, startedAtMs, createdAtMs } = token;
  const state = stateOf(token);
  if (handle === undefined || state === undefined) return [];
  const { server, taskId } = handle;
  return [
    {
      ...{ runId, waitId, server, taskId, state },
      sinceMs: settlement?.atMs ?? startedAtMs ?? createdAtMs,
      ...defined({ task: toTaskView(token), stale: isTaskStale(deps, token) ? true : undefined }),
    },
  ];
}

/** Returns undefined if the task has ended, as far as is known. */
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
