import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { RunId, WaitId } from '../../base/ids.js';
import { jsonBytes } from '../../base/json-limit.js';
import { followIntervalMs, followMaxMs, pollIntervalMinMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { pollHint } from '../../decide/poll.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import { foldHistory, type OpenRemoteTask } from '../../history/run-state.js';
import type { RemoteTaskTransport, WatchEvent } from '../../remote/transport.js';
import type { RunRecords, RunStatus, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { loadRun } from '../load-run.js';
import { type ExportedEvent, exportEvents } from './read-history.js';
import { whenAdmitted } from '../admission.js';

/** How long progress of remote tasks is collected: each response costs their servers a new stream or a read. */
const progressGatherMs = 5_000;
/** Most remote tasks of one run that are followed at a time, and most progress that is kept for one response. */
const followedTasksMax = 8;
const progressEventsMax = 1_000;
const progressEventsMaxBytes = 256 * 1024;

export interface FollowQuery {
  /** Only events after the commit with this number. Default 0: from the start. */
  readonly after?: number;
  /** How long to wait for something new; default 0, at most 20 s. */
  readonly waitMs?: number;
}

/** Progress that a remote task reported while it was watched. It is in no history and settles nothing. */
export type RemoteProgress = { readonly waitId: WaitId; readonly server: string; readonly atMs: EpochMs } & WatchEvent;

export interface RunNews {
  readonly events: readonly ExportedEvent[];
  readonly progress: readonly RemoteProgress[];
  readonly status: RunStatus;
  /** The `after` of the next request. */
  readonly nextAfter: number;
  /** The run that this one has continued as: later events are there, from its start. It may not exist for a moment. */
  readonly nextRunId?: RunId;
}

/**
 * Returns what is new of a run: at once if there are events or the run has ended, otherwise after waiting. Meanwhile
 * follows the remote tasks that were called with `watch`, and returns after 5 s with what they have reported. A stream
 * that breaks is opened again by the next request, and polling continues regardless of what happens here.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`
 */
export async function followRun(deps: Deps, runId: RunId, { after = 0, waitMs = 0 }: FollowQuery): Promise<RunNews> {
  if (!(waitMs >= 0 && waitMs <= followMaxMs))
    throw new EngineError('INPUT_INVALID', `a run can be followed for at most ${followMaxMs / 1000} s at a time`);
  const records = await loadRun(deps, runId);
  const first = newsOf(records, after, []);
  if (first.events.length > 0 || waitMs === 0 || hasEnded(first.status)) return first;

  const progress: RemoteProgress[] = [];
  const done = new AbortController();
  const watching = watchTasks(deps, records, progress, done.signal);
  try {
    const sinceMs = deps.clock.nowMs();
    for (;;) {
      await deps.delay(Math.max(0, Math.min(followIntervalMs, sinceMs + waitMs - deps.clock.nowMs())));
      let newer = await deps.store.runs.readAfter(runId, first.nextAfter);
      // The head is read next to the commits and may be newer: then the last commits are missing.
      if (newer !== undefined && hasEnded(newer.head.status))
        newer = await deps.store.runs.readAfter(runId, first.nextAfter);
      if (newer === undefined) return { ...first, progress };
      const news = newsOf(newer, first.nextAfter, progress);
      if (news.events.length > 0 || hasEnded(news.status)) return news;
      const waitedMs = deps.clock.nowMs() - sinceMs;
      if (waitedMs >= waitMs || (progress.length > 0 && waitedMs >= progressGatherMs)) return news;
    }
  } finally {
    done.abort('done');
    await watching;
  }
}

function newsOf(records: RunRecords, after: number, progress: readonly RemoteProgress[]): RunNews {
  const newer = records.commits.filter(({ seq }) => seq > after);
  return {
    events: exportEvents({ ...records, commits: newer }),
    progress: [...progress],
    status: records.head.status,
    nextAfter: newer.at(-1)?.seq ?? after,
    ...defined({ nextRunId: records.head.nextRunId }),
  };
}

function hasEnded(status: RunStatus): boolean {
  return status !== 'running' && status !== 'ending';
}

/** Follows the watched tasks of a run until `signal` aborts. Never throws. */
async function watchTasks(
  deps: Deps,
  { commits, tokens }: RunRecords,
  progress: RemoteProgress[],
  signal: AbortSignal,
): Promise<void> {
  const byWait = new Map(tokens.map((token) => [token.waitId, token]));
  const watched = [...foldHistory(commits).openTokens.values()]
    .filter((wait): wait is OpenRemoteTask => wait.kind === 'remoteTask' && wait.watch)
    .slice(0, followedTasksMax);
  let bytes = 0;
  const watch = ({ waitId, server }: OpenRemoteTask): Promise<void> => {
    const onEvent = (event: WatchEvent): void => {
      bytes += jsonBytes(event);
      if (signal.aborted || progress.length >= progressEventsMax || bytes > progressEventsMaxBytes) return;
      progress.push({ waitId, server, atMs: deps.clock.nowMs(), ...event });
    };
    return watchTask(deps, byWait.get(waitId), onEvent, signal);
  };
  await Promise.all(watched.map(watch));
}

interface WatchedTask {
  readonly transport: RemoteTaskTransport;
  readonly handle: RemoteTaskHandle;
  readonly pollHintMs: number | undefined;
}

/**
 * Watches a task whose server has no streams: reads it as often as its server allows, and reports changes. Does not
 * wait for a read that is under way when `signal` aborts.
 */
async function watchByReading(
  deps: Deps,
  { transport, handle, pollHintMs }: WatchedTask,
  onEvent: (event: WatchEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => {
      resolve(undefined);
    });
  });
  let last = '';
  // The first read ends this request, and the next request begins with another read: that must not come too soon.
  const hintMs = pollHint(pollHintMs);
  let pauseMs = hintMs > progressGatherMs ? hintMs : followIntervalMs;
  for (;;) {
    await deps.delay(pauseMs, signal);
    if (signal.aborted) return;
    const read = { server: handle.server, purpose: 'read' } as const;
    const tried = await Promise.race([whenAdmitted(deps, read, () => transport.get(handle)), aborted]);
    if (tried?.kind !== 'done' || tried.result.kind !== 'working') return;
    const { state, note, pollAfterMs } = tried.result;
    const said = `${state}\n${note ?? ''}`;
    if (said !== last) onEvent({ kind: 'status', state, ...defined({ note }) });
    last = said;
    pauseMs = Math.max(pollIntervalMinMs, pollHint(pollAfterMs));
  }
}

async function watchTask(
  deps: Deps,
  token: TokenRecord | undefined,
  onEvent: (event: WatchEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const handle = token?.handle;
  if (handle === undefined || !Object.hasOwn(deps.app.servers, handle.server)) return;
  try {
    const transport = deps.transports.get(handle.server);
    if (transport.watch === undefined)
      await watchByReading(deps, { transport, handle, pollHintMs: token?.pollHintMs }, onEvent, signal);
    else await transport.watch(handle, onEvent, signal);
  } catch (error) {
    deps.log.warn('remote task not watched', { server: handle.server, error });
  }
}
