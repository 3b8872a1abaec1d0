import type { HistoryEvent } from '../../history/event.js';
import type { RunHead } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { recordRun } from '../trace.js';
import type { TurnTrace } from './turn-trace.js';

/** Counts and traces what a commit that succeeded says of its run, which only the owner who wrote it does. */
export function noteCommitted(
  deps: Deps,
  head: RunHead,
  { seq, events }: { readonly seq: number; readonly events: readonly HistoryEvent[] },
  trace?: TurnTrace,
): void {
  const { workflow } = head;
  trace?.committed(seq, events);
  for (const event of events) {
    if (event.type === 'RunStarted') deps.metrics?.put('RunsStarted', 1, { workflow });
    if (event.type !== 'RunEnded') continue;
    deps.metrics?.put('RunsEnded', 1, { workflow, end: event.status });
    recordRun(deps, head, event.atMs, event.status);
  }
}
