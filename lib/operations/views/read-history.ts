import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { newHandles } from '../../decide/new-events.js';
import { historyFormat } from '../../history/codec.js';
import type { HistoryEvent } from '../../history/event.js';
import type { ParentWait, RunRecords } from '../../history/records.js';
import { foldHistory } from '../../history/run-state.js';
import type { Settlement } from '../../history/settlement.js';
import type { TaskOfRun } from '../../history/task-content.js';
import type { Deps } from '../deps.js';
import { loadRun } from '../load-run.js';

export interface HistoryView {
  /** Format of the events. Missing: 1. */
  readonly format?: number;
  readonly runId: RunId;
  readonly workflow: string;
  readonly version: string;
  readonly input?: JsonValue;
  /** The caller's own id of the start. Like the next four fields it is missing if an earlier version exported the history. */
  readonly id?: string;
  /** Idempotency key of the start. */
  readonly key?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Who started the run, and its tenant. */
  readonly owner?: string;
  readonly tenant?: string;
  readonly parent?: ParentWait;
  /** The task as which the run is served. */
  readonly task?: TaskOfRun;
  /** The run that continued as this one. */
  readonly previousRunId?: RunId;
  /** The run that this one has continued as. */
  readonly nextRunId?: RunId;
  /** Seed of the run's random numbers: with it the history can be replayed elsewhere. */
  readonly seed: string;
  readonly events: readonly ExportedEvent[];
  /** Started remote tasks that are in no commit yet: the next commit takes them in, perhaps only at their end. */
  readonly uncommitted?: readonly HistoryEvent[];
}

/** An event with the number of its commit, and what it refers to written out: a settlement, the payload of a signal. */
export type ExportedEvent = HistoryEvent & {
  readonly seq: number;
  readonly settlement?: Pick<Settlement, 'by' | 'caller' | 'proof' | 'atMs' | 'outcome'>;
  readonly payload?: JsonValue;
  /** Set if the signal's item is missing: its payload is lost, and the history cannot be replayed. */
  readonly isMissing?: true;
};

/** @throws EngineError `RUN_NOT_FOUND` */
export async function readHistory(deps: Deps, runId: RunId): Promise<HistoryView> {
  const records = await loadRun(deps, runId);
  const { head, tokens } = records;
  const state = foldHistory(records.commits);
  const handles = newHandles({ state, tokens: new Map(tokens.map((token) => [token.waitId, token])) });
  return {
    format: historyFormat,
    runId,
    workflow: head.workflow,
    version: head.version,
    ...defined({ input: head.input, id: head.id, key: head.key, tags: head.tags, parent: head.parent }),
    ...defined({ previousRunId: head.previousRunId, nextRunId: head.nextRunId }),
    ...defined({ owner: head.owner, tenant: head.tenant, task: head.task }),
    seed: head.seed,
    events: exportEvents(records),
    ...defined({ uncommitted: handles.length === 0 || state.ending !== undefined ? undefined : handles }),
  };
}

/** Returns the events of the commits, each with what it refers to. */
export function exportEvents(records: RunRecords): readonly ExportedEvent[] {
  const references = referencesOf(records);
  return records.commits.flatMap(({ seq, events }) => events.map((event) => ({ seq, ...event, ...references(event) })));
}

/** Finds what events of a run refer to. */
function referencesOf({
  tokens,
  inbox,
}: RunRecords): (event: HistoryEvent) => Pick<ExportedEvent, 'settlement' | 'payload' | 'isMissing'> {
  const settlements = new Map(tokens.map((token) => [token.waitId, token.settlement]));
  const signals = new Map(inbox.map((item) => [item.inboxId, item]));
  return (event) => {
    if (event.type === 'TokenSettled') {
      const settlement = settlements.get(event.waitId);
      if (settlement === undefined) return {};
      const { by, caller, proof, atMs, outcome } = settlement;
      return { settlement: { by, ...defined({ caller }), atMs, outcome, ...defined({ proof }) } };
    }
    if (event.type !== 'SignalReceived' && event.type !== 'MessageReceived') return {};
    const item = signals.get(event.inboxId);
    if (item?.kind !== 'signal' && item?.kind !== 'message') return { isMissing: true };
    return item.payload === undefined ? {} : { payload: item.payload as JsonValue };
  };
}
