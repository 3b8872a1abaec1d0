import { storedError, type StoredError, toStoredError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { decodeEvents } from '../../history/codec.js';
import type { HistoryEvent } from '../../history/event.js';
import { foldHistory } from '../../history/run-state.js';
import { silentLog } from '../../base/log.js';
import { Execution } from '../../replay/execution.js';
import { type App, workflowOf } from '../../workflow/app.js';
import type { Deps } from '../deps.js';
import { type ReplayedHistory, verdictOf } from '../replay-verdict.js';
import type { HistoryView } from './read-history.js';

/**
 * Replays an exported history (`outwait history <runId> --json`) against the code of an app, to check whether a
 * deployment fits the runs under way. Runs no steps and calls no server. Tokens are not exported, so their texts are
 * empty here.
 */
export async function replayHistory(
  deps: Pick<Deps, 'drain' | 'digest'>,
  app: App,
  history: HistoryView,
): Promise<ReplayedHistory> {
  const unknown = unknownFormat(history);
  if (unknown !== undefined) return { kind: 'differs', error: unknown };
  const workflow = workflowOf(app, history);
  if (workflow === undefined) {
    return { kind: 'differs', error: storedError('WORKFLOW_NOT_FOUND', `no workflow is named "${history.workflow}"`) };
  }
  const settlements = new Map(
    history.events.flatMap((event) =>
      event.type === 'TokenSettled' && event.settlement !== undefined
        ? [[event.waitId, event.settlement.outcome] as const]
        : [],
    ),
  );
  const signals = new Map(
    history.events.flatMap((event) => {
      const isSignal = event.type === 'SignalReceived' || event.type === 'MessageReceived';
      if (!isSignal || event.isMissing === true) return [];
      return [[event.inboxId, event.payload === undefined ? {} : { payload: event.payload }] as const];
    }),
  );
  const events: readonly HistoryEvent[] = history.events;
  const execution = new Execution({
    workflow,
    runId: history.runId,
    input: history.input,
    seed: history.seed,
    start: history,
    settlementOf: (waitId) => settlements.get(waitId),
    signalOf: (inboxId) => signals.get(inboxId),
    patches: foldHistory([{ seq: 1, events }]).patches,
    drain: deps.drain,
    digest: deps.digest,
    log: silentLog,
  });
  for (const event of events) await execution.apply(event);
  return verdictOf(execution, { events, task: history.task, isFiltered: app.serve?.text?.outgoing !== undefined });
}

/** Returns an error for a history of a newer format: a replay would skip what this version does not know. */
function unknownFormat({ format = 1, events }: HistoryView): StoredError | undefined {
  try {
    decodeEvents({ format, events: events as unknown as JsonValue });
    return undefined;
  } catch (error) {
    return toStoredError(error, 'HISTORY_FORMAT_UNKNOWN');
  }
}
