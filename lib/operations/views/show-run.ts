import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import { newRequests } from '../../decide/new-events.js';
import type { RunOutcome } from '../../history/event.js';
import type { InboxRecord, ParentWait, RunRecords, RunStatus } from '../../history/records.js';
import { foldHistory, type RunState } from '../../history/run-state.js';
import type { Deps } from '../deps.js';
import { loadRun } from '../load-run.js';
import { waitTaskOf } from './task-view.js';
import { toWaitView, type WaitView } from './wait-view.js';

export interface RunView {
  readonly runId: RunId;
  readonly workflow: string;
  readonly version: string;
  readonly status: RunStatus;
  /** The caller's own id of the start, if it had one. */
  readonly id?: string;
  /** Key of the start, if it had one. */
  readonly key?: string;
  readonly createdAtMs: EpochMs;
  readonly endedAtMs?: EpochMs;
  readonly input?: JsonValue;
  readonly outcome?: RunOutcome;
  /** Why the run cannot go on with this deployment. */
  readonly blocked?: StoredError;
  /** Progress that the workflow last reported. */
  readonly progress?: JsonValue;
  /** When a blocked run is next looked at by itself. */
  readonly nextLookAtMs?: EpochMs;
  readonly pausedUntilMs?: EpochMs;
  readonly startAtMs?: EpochMs;
  readonly deadlineAtMs?: EpochMs;
  readonly tags?: Readonly<Record<string, string>>;
  /** Who started the run, and its tenant. */
  readonly owner?: string;
  readonly tenant?: string;
  readonly parent?: ParentWait;
  /** Runs of the workflow with this key are never under way at the same time. */
  readonly concurrencyKey?: string;
  /**
   * The run that this one replaces, or that has the same concurrency key and came before. This one waits for it,
   * including its successors, before it begins. Missing once begun.
   */
  readonly afterRunId?: RunId;
  readonly previousRunId?: RunId;
  readonly nextRunId?: RunId;
  /** Names of signals that no wait has received, oldest first. */
  readonly unreadSignals?: readonly string[];
  readonly waits: readonly WaitView[];
}

/** @throws EngineError `RUN_NOT_FOUND` */
export async function showRun(deps: Deps, runId: RunId): Promise<RunView> {
  const records = await loadRun(deps, runId);
  const { head } = records;
  const state = foldHistory(records.commits);
  const tokens = new Map(records.tokens.map((token) => [token.waitId, token]));
  const isOver = head.status !== 'running' && head.status !== 'ending';
  const unreadSignals = unreadSignalsOf(records, state);
  return {
    runId,
    workflow: head.workflow,
    version: head.version,
    status: head.status,
    createdAtMs: head.createdAtMs,
    ...defined({
      endedAtMs: head.endedAtMs,
      input: head.input,
      outcome: state.ending,
      blocked: head.blocked,
      nextLookAtMs: head.blocked === undefined ? undefined : head.dueAtMs,
      progress: state.progress,
      pausedUntilMs: state.pausedUntilMs === undefined || isOver ? undefined : state.pausedUntilMs,
      concurrencyKey: head.lane?.key,
      afterRunId: state.seq > 0 ? undefined : (head.afterRunId ?? head.lane?.afterRunId),
      id: head.id,
      key: head.key,
      startAtMs: head.startAtMs,
      deadlineAtMs: head.deadlineAtMs,
      tags: head.tags,
      owner: head.owner,
      tenant: head.tenant,
      parent: head.parent,
      previousRunId: head.previousRunId,
      nextRunId: head.nextRunId,
      unreadSignals: unreadSignals.length === 0 ? undefined : unreadSignals,
    }),
    waits: isOver
      ? []
      : [...state.open.values()].map((wait) => {
          const token = tokens.get(wait.waitId);
          return { ...toWaitView(wait, token, deps.clock.nowMs()), ...waitTaskOf(deps, token) };
        }),
  };
}

/** Returns names of unread signals in the log, then of those not taken in (run paused, blocked or stopped). */
function unreadSignalsOf({ inbox }: RunRecords, state: RunState): readonly string[] {
  const untaken = newRequests(new Map(inbox.map((item) => [item.inboxId, item])), state);
  return [...state.unreadSignals.values(), ...untaken.filter(isSignal)].map(({ name }) => name);
}

function isSignal(item: InboxRecord): item is InboxRecord & { readonly kind: 'signal' } {
  return item.kind === 'signal';
}
