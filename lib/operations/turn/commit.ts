import { defined } from '../../base/defined.js';
import type { HistoryEvent, RunOutcome } from '../../history/event.js';
import { lifecycleEventsOf } from '../../history/lifecycle-event.js';
import { isStoreFailure } from '../persist.js';
import { afterEnd, finishRun, taskEnd } from './end-run.js';
import { noteCommitted } from './note-committed.js';
import { cancelled } from './outcomes.js';
import type { PassContext } from './pass-context.js';

/** Thrown if the turn cannot record its work: the store did not take it while there was time. */
export class GaveUp extends Error {}

/** Writes the next commit of the run. Returns false if another process has written it. @throws GaveUp */
export async function commit(pass: PassContext, events: readonly HistoryEvent[]): Promise<boolean> {
  const { deps, run, effects, outbox } = pass;
  const seq = run.state.seq + 1;
  const commit = { seq, writerId: deps.random.hex(16), events };
  if (!(await decide(pass, () => deps.store.log.commit(run.head.runId, commit), events))) return false;
  noteCommitted(deps, run.head, commit, pass.options.trace);
  outbox?.add(lifecycleEventsOf(run.head, run.state, { seq, events }, (waitId) => run.settlementOf(waitId)));
  run.applyCommit(seq, events);
  effects.committed(events, run.state);
  return true;
}

/**
 * Fixes the outcome of a workflow that has ended, and ends the run in the same transaction if no wait is open. Returns
 * false if a commit was lost. @throws GaveUp
 */
export async function commitEnd(
  pass: PassContext,
  events: readonly HistoryEvent[],
  outcomeOfCode: RunOutcome,
): Promise<boolean> {
  const { deps, run, effects, limits } = pass;
  const { runId } = run.head;
  const outcome = asServed(pass, events, outcomeOfCode);
  // Requests that this turn has seen: it may have read the inbox again after it read the head.
  const inboxCount = run.state.takenInbox.size + run.requests.length;
  const atMs = deps.clock.nowMs();
  const seq = run.state.seq + 1;
  const writerId = deps.random.hex(16);
  const unheard = outcome.status === 'continued' ? (run.execution?.unheardCancels ?? []) : [];
  const ending: readonly HistoryEvent[] = [
    ...events,
    { type: 'RunEnding', atMs, outcome, ...defined({ unheard: unheard.length === 0 ? undefined : unheard }) },
  ];
  const hasOpenTokens = [...run.state.openTokens.keys()].some((waitId) => run.settlementOf(waitId) === undefined);
  if (hasOpenTokens) {
    const commit = { seq, writerId, events: ending };
    const write = () => deps.store.log.commitEnding(runId, commit, inboxCount, outcome);
    if (!(await decide(pass, write, events))) return false;
    noteCommitted(deps, run.head, commit, pass.options.trace);
    effects.abandonSteps();
    await finishRun(deps, runId, limits);
    return true;
  }
  const commit = { seq, writerId, events: [...ending, { type: 'RunEnded', atMs, status: outcome.status } as const] };
  const end = {
    outcome,
    endedAtMs: atMs,
    seen: { status: 'running', inboxCount },
    // Another marker that stays brings the run back just as well, which saves a write.
    ...defined({ markAtMs: run.hasStandingMarker() ? undefined : atMs }),
    taskHint: await taskEnd(run.head, outcome, atMs),
  } as const;
  if (!(await decide(pass, () => deps.store.log.commitEnd(run.head, commit, end), events))) return false;
  noteCommitted(deps, run.head, commit, pass.options.trace);
  effects.abandonSteps();
  deps.warmRuns?.noteEnded(runId);
  await afterEnd(deps, runId, limits);
  return true;
}

/**
 * Returns the outcome of a run as its caller was told: a served task whose cancel is in the log, or in this commit, ends
 * as cancelled, whatever its workflow returned.
 */
function asServed({ run }: PassContext, events: readonly HistoryEvent[], outcome: RunOutcome): RunOutcome {
  if (run.head.task === undefined || outcome.status === 'terminated' || outcome.status === 'cancelled') return outcome;
  const cancel = events.find((event) => event.type === 'CancelRequested');
  return cancel === undefined && !run.state.cancelRequested ? outcome : cancelled(cancel ?? {});
}

/** Retries the write of a commit until the store takes or refuses it. @throws GaveUp */
async function decide(
  { deps, persist, effects, run }: PassContext,
  write: () => Promise<boolean>,
  events: readonly HistoryEvent[],
): Promise<boolean> {
  try {
    const committed = await persist(write);
    if (committed) return true;
    deps.metrics?.put('CommitConflicts', 1);
    effects.takeBack(events.filter((event) => !run.isOnItem(event)));
    return false;
  } catch (error) {
    throw isStoreFailure(error) ? new GaveUp('the store did not take a commit', { cause: error }) : error;
  }
}
