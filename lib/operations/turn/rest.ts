import { defined } from '../../base/defined.js';
import { delayedMessageMaxMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { Held, InboxRecord, RunHead, TokenRecord } from '../../history/records.js';
import type { Execution } from '../../replay/execution.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import { wakeForRest, wakeRun, wakeRunAt } from '../wake.js';
import { loadTaskHint } from './end-run.js';
import { releaseInbox, releaseTokens } from './release-markers.js';
import { owePushes } from './owe-pushes.js';
import { dueSince } from './outbox.js';
import type { PassContext } from './pass-context.js';

// How a pass leaves its run. Keeps T4 (pass.ts).

interface Marker {
  readonly dueAtMs: EpochMs | undefined;
  readonly publishedSeq: number | undefined;
}

/** Leaves a run that has nothing to do now: moves the head's marker, then those of what was taken in. */
export async function restQuietly(pass: PassContext): Promise<void> {
  const { deps, run, effects } = pass;
  await owePushes(deps, run.head);
  const { runId, blocks, blocked, failedTurns } = run.head;
  const instants = run.dueInstants((waitId) => effects.has(waitId));
  const dueAtMs = instants.length === 0 ? undefined : Math.min(...instants);
  const marker = await publish(pass, dueAtMs);
  const isNew = run.head.dueAtMs !== marker.dueAtMs || marker.publishedSeq !== undefined;
  // Re-stamp a marker that stays with the current seq; otherwise a stale owner could remove it.
  const isOlder = marker.dueAtMs !== undefined && run.head.dueSeq < run.state.seq;
  const task = run.head.task === undefined ? undefined : await (await loadTaskHint()).hintAtRest(deps, run);
  const listed = listedAs(run.head, undefined);
  if (
    isNew ||
    isOlder ||
    task !== undefined ||
    blocked !== undefined ||
    failedTurns !== undefined ||
    listed !== undefined
  ) {
    const isSet = await deps.store.headMarkers.set(runId, {
      seq: run.state.seq,
      blocks,
      ...marker,
      ...defined({ task, listed }),
    });
    if (!isSet) await wakeRun(deps, runId);
  }
  if (dueAtMs !== undefined && dueAtMs - deps.clock.nowMs() <= delayedMessageMaxMs)
    await wakeRunAt(deps, runId, dueAtMs);
  await takeQuestions(pass);
  await takeProgress(pass);
  await clearMarkers(
    pass,
    (token) => run.state.settled.has(token.waitId) || run.isWorkerStartTaken(token),
    (item) => run.state.takenInbox.has(item.inboxId),
  );
}

/** Asks for another turn, since too little time is left for the rest. Every marker stays. */
export async function yieldTurn({ deps, run, effects, outbox }: PassContext): Promise<void> {
  const { runId } = run.head;
  await wakeForRest(deps, runId, effects.unharmed());
  await outbox?.publish();
  if (outbox?.publishedSeq !== undefined) await deps.store.headMarkers.setPublished(runId, outbox.publishedSeq);
}

/** Leaves the head's marker alone to bring the run back at `untilMs`, or at the deadline of the whole run. */
export async function restUntil(
  pass: PassContext,
  untilMs: EpochMs,
  deadlineAtMs = pass.run.head.deadlineAtMs ?? Infinity,
  held?: Held,
): Promise<void> {
  const { deps, run } = pass;
  await owePushes(deps, run.head);
  const { runId, blocks } = run.head;
  const marker = await publish(pass, Math.min(untilMs, deadlineAtMs));
  const listed = listedAs(run.head, held);
  const isSet = await deps.store.headMarkers.set(runId, {
    seq: run.state.seq,
    blocks,
    ...marker,
    ...defined({ listed }),
  });
  if (!isSet) await wakeRun(deps, runId);
  await clearAllMarkers(pass);
}

/** Waits until a delayed start is due. */
export async function restForStart(pass: PassContext, startAtMs: EpochMs): Promise<void> {
  await restUntil(pass, startAtMs, undefined, { kind: 'delayed', untilMs: startAtMs });
  await wakeRunAt(pass.deps, pass.run.head.runId, startAtMs);
}

/** Waits until the end of a pause. */
export async function restPaused(pass: PassContext, untilMs: EpochMs): Promise<void> {
  await restUntil(pass, untilMs, undefined, { kind: 'paused', untilMs });
}

/**
 * Returns the run as the lists are to show it from now on; undefined if they do. A delay that has passed needs no change: who
 * reads the list knows the time.
 */
function listedAs(
  head: RunHead,
  held: Held | undefined,
): (Omit<RunHead, 'held'> & { readonly held?: Held }) | undefined {
  const { held: before, ...run } = head;
  if (held === undefined) return before === undefined || before.kind === 'delayed' ? undefined : run;
  const isSame =
    before?.kind === held.kind && 'untilMs' in before && 'untilMs' in held && before.untilMs === held.untilMs;
  return isSame ? undefined : { ...run, held };
}

/** Waits for another run to end. Whatever comes meanwhile waits, including the deadline and a terminate. */
export async function restBehind(pass: PassContext, lookAtMs: EpochMs): Promise<void> {
  await restUntil(pass, lookAtMs, Infinity);
  await wakeRunAt(pass.deps, pass.run.head.runId, lookAtMs);
}

/** Keeps the run for the next turn in this process. Nothing may be under way, and the log must have all requests. */
export function keepWarm({ deps, run, outbox }: PassContext, workflow: AnyWorkflow, execution: Execution): void {
  if (deps.warmRuns === undefined) return;
  run.forgetTaken();
  const { state, tokens, inbox, head } = run;
  deps.warmRuns.keep(head.runId, {
    workflow,
    execution,
    state,
    tokens,
    inbox,
    blocks: head.blocks,
    unpublished: outbox?.events,
  });
}

/** Publishes what is left, and returns the marker that the head may then have; `dueAtMs` is the run's own. */
async function publish({ deps, run, outbox }: PassContext, dueAtMs: EpochMs | undefined): Promise<Marker> {
  const isPublished = (await outbox?.publish()) ?? true;
  return {
    dueAtMs: isPublished ? dueAtMs : dueSince(run.head, deps.clock.nowMs()),
    publishedSeq: outbox?.publishedSeq,
  };
}

/** Marks questions as taken; until then each read of the task wakes the run. A marker like others, moved as late. */
async function takeQuestions({ deps, run }: PassContext): Promise<void> {
  for (const token of run.tokens.values()) {
    const { runId, waitId, questions } = token;
    if (questions === undefined || questions.recorded <= questions.taken) continue;
    await deps.store.questions.take(runId, waitId, questions.recorded);
    run.noteToken({ ...token, questions: { ...questions, taken: questions.recorded } });
  }
}

/** Marks changes of remote tasks as taken, as for questions. */
async function takeProgress({ deps, run }: PassContext): Promise<void> {
  for (const wait of run.state.openTokens.values()) {
    const token = wait.kind === 'remoteTask' ? run.tokens.get(wait.waitId) : undefined;
    if (wait.kind !== 'remoteTask' || token === undefined) continue;
    const { waitId, progressed: progressTaken = 0 } = wait;
    if (progressTaken <= (token.progressTaken ?? 0)) continue;
    await deps.store.polls.takeProgress(run.head.runId, waitId, progressTaken);
    run.noteToken({ ...token, progressTaken });
  }
}

/** Clears all markers of requests and settlements that exist: the head's marker covers them. */
export async function clearAllMarkers(pass: PassContext): Promise<void> {
  await clearMarkers(
    pass,
    (token) => token.settlement !== undefined,
    () => true,
  );
}

async function clearMarkers(
  { deps, run, limits }: PassContext,
  tokenIsDone: (token: TokenRecord) => boolean,
  inboxIsDone: (item: InboxRecord) => boolean,
): Promise<void> {
  const done = [...run.tokens.values()].filter((token) => token.dueAtMs !== undefined && tokenIsDone(token));
  await releaseTokens(deps, done, limits);
  const { runId } = run.head;
  const taken = [...run.inbox.values()].filter(inboxIsDone);
  if (!(await releaseInbox(deps, runId, taken, limits))) await wakeRun(deps, runId);
}
