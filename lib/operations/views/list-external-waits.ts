import { defined } from '../../base/defined.js';
import pLimit from 'p-limit';
import type { RunId, WaitId } from '../../base/ids.js';
import { externalPageRuns, runsReadInParallel } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { foldHistory } from '../../history/run-state.js';
import type { RunRecords } from '../../history/records.js';
import { readLastRun } from '../chain.js';
import type { Deps } from '../deps.js';
import { runNotFound } from '../load-run.js';
import { skipUnreadable } from '../skip-unreadable.js';
import { listRuns } from './list-runs.js';

/** An open external wait of a run, other than a question, with the capability to settle it. */
export interface ExternalWait {
  readonly runId: RunId;
  readonly waitId: WaitId;
  readonly kind: 'remoteTask' | 'external';
  /** Set for a remote task. */
  readonly server?: string;
  readonly name: string;
  readonly taskId?: string;
  readonly sinceMs: EpochMs;
  readonly deadlineAtMs?: EpochMs;
  readonly token: string;
}

export interface ExternalWaitPage {
  readonly waits: readonly ExternalWait[];
  /** The `after` of the next page, if there may be more. */
  readonly nextAfter?: string;
}

/** Selects the waits for tasks of a server, or for one of its tasks. */
export interface ExternalWaitFilter {
  readonly server?: string | undefined;
  /** Only with `server`: two servers may use the same id. */
  readonly taskId?: string | undefined;
}

/**
 * Returns, for relays, the open waits and their tokens of a run or its last successor.
 * @throws EngineError `RUN_NOT_FOUND`
 */
export async function externalWaitsOf(
  deps: Deps,
  runId: RunId,
  filter: ExternalWaitFilter = {},
): Promise<readonly ExternalWait[]> {
  const records = await readLastRun(deps, runId);
  if (records === undefined) throw runNotFound();
  return openWaits(deps, records).filter((wait) => isWanted(wait, filter));
}

/**
 * Lists the open external waits of all runs under way, the newest run first. There is no index of them, since it would
 * cost an additional write for each token: a page reads 25 runs, so it may be short or empty and still have a next one.
 * With a filter it reads the tokens of these runs, and the history only of a run that has a matching one. A run that
 * cannot be read is left out, with a warning.
 * @throws EngineError `INPUT_INVALID` for an `after` that no page has returned
 */
export async function listExternalWaits(
  deps: Deps,
  { after, ...filter }: ExternalWaitFilter & { readonly after?: string | undefined } = {},
): Promise<ExternalWaitPage> {
  const page = await listRuns(deps, {
    status: 'running',
    limit: externalPageRuns,
    ...defined({ cursor: after }),
  });
  const limit = pLimit(runsReadInParallel);
  const waits = await Promise.all(page.runs.map(({ runId }) => limit(() => readableWaits(deps, runId, filter))));
  return { waits: waits.flat(), ...defined({ nextAfter: page.cursor }) };
}

async function readableWaits(deps: Deps, runId: RunId, filter: ExternalWaitFilter): Promise<readonly ExternalWait[]> {
  const records = await skipUnreadable(deps, 'run', { runId }, async () =>
    (await mayHaveWanted(deps, runId, filter)) ? deps.store.runs.read(runId) : undefined,
  );
  return records === undefined ? [] : openWaits(deps, records).filter((wait) => isWanted(wait, filter));
}

async function mayHaveWanted(deps: Deps, runId: RunId, filter: ExternalWaitFilter): Promise<boolean> {
  if (filter.server === undefined) return true;
  const tokens = await deps.store.tokens.readAll(runId);
  return tokens.some(({ server, handle }) => isWanted({ server, taskId: handle?.taskId }, filter));
}

function isWanted({ server, taskId }: ExternalWaitFilter, wanted: ExternalWaitFilter): boolean {
  return (
    (wanted.server === undefined || server === wanted.server) &&
    (wanted.taskId === undefined || taskId === wanted.taskId)
  );
}

function openWaits(deps: Deps, { head: { runId }, commits, tokens }: RunRecords): readonly ExternalWait[] {
  const byWait = new Map(tokens.map((token) => [token.waitId, token]));
  return [...foldHistory(commits).openTokens.values()].flatMap((wait): readonly ExternalWait[] => {
    const token = byWait.get(wait.waitId);
    if (token === undefined || token.settlement !== undefined) return [];
    // A child settles its parent's wait itself, a worker that of a long step; a question is for a person.
    const isQuestion = wait.kind === 'external' && wait.form !== undefined;
    if ((wait.kind !== 'remoteTask' && wait.kind !== 'external') || isQuestion) return [];
    const { waitId, kind, name, requestedAtMs: sinceMs } = wait;
    // A heartbeat moves the deadline of the token.
    const deadlineAtMs = token.deadlineAtMs ?? wait.deadlineAtMs;
    return [
      {
        runId,
        waitId,
        kind,
        ...defined({ server: wait.kind === 'remoteTask' ? wait.server : undefined }),
        name,
        ...defined({ taskId: token.handle?.taskId }),
        sinceMs,
        ...defined({ deadlineAtMs }),
        token: deps.tokens.settleToken({ runId, waitId }),
      },
    ];
  });
}
