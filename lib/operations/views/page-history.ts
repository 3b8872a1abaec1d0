import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import { utf8Bytes } from '../../base/json.js';
import { historyPageBytes, historyPageEvents } from '../../base/limits.js';
import type { Deps } from '../deps.js';
import { type ExportedEvent, type HistoryView, readHistory } from './read-history.js';

export interface HistoryQuery {
  /** Only commits after the one with this number. Default 0: from the start. */
  readonly after?: number;
  /** Maximum number of events, in whole commits; default and maximum 1,000. */
  readonly limit?: number;
}

export interface HistoryPage extends HistoryView {
  /** The `after` of the next page, if there is more. */
  readonly nextAfter?: number;
}

/**
 * Returns a part of the history of a run, in whole commits: as many as fit the limit, and fewer if they are large (2
 * MiB), but at least one.
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
