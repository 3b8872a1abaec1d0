import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import { utf8Bytes } from '../../base/json.js';
import { historyPageBytes, historyPageEvents } from '../../base/limits.js';
import type { Deps } from '../deps.js';
import { type ExportedEvent, type HistoryView, readHistory } from './read-history.js';

export interface HistoryQuery {
  /** Only commits after the one of this number. Default 0: from the start. */
  readonly after?: number;
  /** Most events, but never a part of a commit; default and maximum 1,000. */
  readonly limit?: number;
}

export interface HistoryPage extends HistoryView {
  /** There is more: what to ask for next as `after`. */
  readonly nextAfter?: number;
}

/**
 * A part of the history of a run, in whole commits: as many as hold the events that were asked for, and fewer where they
 * are large (2 MiB), but at least one.
 * @throws EngineError `RUN_NOT_FOUND`
 */
export async function pageHistory(deps: Deps, runId: RunId, query: HistoryQuery = {}): Promise<HistoryPage> {
  const { after = 0, limit = historyPageEvents } = query;
  const view = await readHistory(deps, runId);
  const rest = view.events.filter(({ seq }) => seq > after);
  const events = takeCommits(rest, limit);
  const last = events.at(-1);
  return {
    ...view,
    events,
    ...defined({ nextAfter: last === undefined || events.length === rest.length ? undefined : last.seq }),
  };
}

function takeCommits(events: readonly ExportedEvent[], limit: number): readonly ExportedEvent[] {
  let taken = 0;
  let takenBytes = 0;
  while (taken < events.length) {
    const seq = events[taken]?.seq;
    let end = taken;
    let bytes = 0;
    for (; events[end]?.seq === seq && end < events.length; end++) bytes += utf8Bytes(JSON.stringify(events[end]));
    const isFull = end > limit || takenBytes + bytes > historyPageBytes;
    if (taken > 0 && isFull) break;
    taken = end;
    takenBytes += bytes;
  }
  return events.slice(0, taken);
}
