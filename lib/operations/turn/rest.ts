import { delayedMessageMaxMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { InboxRecord, TokenRecord } from '../../history/records.js';
import type { Execution } from '../../replay/execution.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import { wakeForRest, wakeRun, wakeRunAt } from '../wake.js';
import { releaseInbox, releaseTokens } from './release-markers.js';
import { dueSince } from './outbox.js';
import type { PassContext } from './pass-context.js';

// How a pass leaves its run. T4 (pass.ts) is kept here.

interface Marker {
  readonly dueAtMs: EpochMs | undefined;
  readonly publishedSeq: number | undefined;
}

/** Nothing is left to do now: moves the head's marker, then those of what was taken in. */
export async function restQuietly(pass: PassContext): Promise<void> {
  const { deps, run, effects } = pass;
  const { runId, blocks, blocked, failedTurns } = run.head;
  const instants = run.dueInstants((waitId) => effects.has(waitId));
  const dueAtMs = instants.length === 0 ? undefined : Math.min(...instants);
  const marker = await publish(pass, dueAtMs);
  const isNew = run.head.dueAtMs !== marker.dueAtMs || marker.publishedSeq !== undefined;
  // A marker that stays must be of the log as it is now, or a stale owner could take it away.
  const isOlder = marker.dueAtMs !== undefined && run.head.dueSeq < run.state.seq;
  if (isNew || isOlder || blocked !== undefined || failedTurns !== undefined) {
    const isSet = await deps.store.headMarkers.set(runId, { seq: run.state.seq, blocks, ...marker });
    if (!isSet) await wakeRun(deps, runId);
  }
  if (dueAtMs !== undefined && dueAtMs - deps.clock.nowMs() <= delayedMessageMaxMs)
    await wakeRunAt(deps, runId, dueAtMs);
  await takeQuestions(pass);
  await clearMarkers(
    pass,
    (token) => run.state.settled.has(token.waitId) || run.isWorkerStartTaken(token),
    (item) => run.state.takenInbox.has(item.inboxId),
  );
}

/** Too little time for what is left: asks for another turn. Every marker stands. */
export async function yieldTurn({ deps, run, effects, outbox }: PassContext): Promise<void> {
  const { runId } = run.head;
  await wakeForRest(deps, runId, effects.unharmed());
  await outbox?.publish();
  if (outbox?.publishedSeq !== undefined) await deps.store.headMarkers.setPublished(runId, outbox.publishedSeq);
}

/** The head's marker alone brings the run back: then, or when the whole run is to have ended. */
export async function restUntil(
  pass: PassContext,
  untilMs: EpochMs,
  deadlineAtMs = pass.run.head.deadlineAtMs ?? Infinity,
): Promise<void> {
  const { deps, run } = pass;
  const { runId, blocks } = run.head;
  const marker = await publish(pass, Math.min(untilMs, deadlineAtMs));
  const isSet = await deps.store.headMarkers.set(runId, { seq: run.state.seq, blocks, ...marker });
  if (!isSet) await wakeRun(deps, runId);
  await clearAllMarkers(pass);
}

/** Another run has to end first. Whatever comes meanwhile waits where it is, the deadline and a terminate included. */
export async function restBehind(pass: PassContext, lookAtMs: EpochMs): Promise<void> {
  await restUntil(pass, lookAtMs, Infinity);
  await wakeRunAt(pass.deps, pass.run.head.runId, lookAtMs);
}

/**
 * Leaves the run to the next turn in this process: nothing is under way and all that the workflow asked for is in the log.
 */
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

/** Publishes what is left, and gives the marker that the head may have then; `dueAtMs` is the run's own. */
async function publish({ deps, run, outbox }: PassContext, dueAtMs: EpochMs | undefined): Promise<Marker> {
  const isPublished = (await outbox?.publish()) ?? true;
  return {
    dueAtMs: isPublished ? dueAtMs : dueSince(run.head, deps.clock.nowMs()),
    publishedSeq: outbox?.publishedSeq,
  };
}

/** Until this is written, each read of a task that asks wakes the run: a marker like the others, and moved as late. */
async function takeQuestions({ deps, run }: PassContext): Promise<void> {
  for (const token of run.tokens.values()) {
    const { runId, waitId, questions } = token;
    if (questions === undefined || questions.recorded <= questions.taken) continue;
    await deps.store.questions.take(runId, waitId, questions.recorded);
    run.noteToken({ ...token, questions: { ...questions, taken: questions.recorded } });
  }
}

/** The head's marker stands for all requests and settlements that are there. */
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
