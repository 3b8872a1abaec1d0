import {
  EngineError,
  hasCode,
  isEngineError,
  isUnreadable,
  storedError,
  type EngineErrorCode,
} from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { News, TurnMessage, UnharmedStart } from '../queue/queue.js';
import type { RunHead } from '../store/records.js';
import { workflowOf } from '../workflow/app.js';
import { blockRun } from './block-run.js';
import type { Deps } from './deps.js';
import { afterEnd, finishRun } from './end-run.js';
import { foldHistory } from '../history/run-state.js';
import type { TurnLimits } from './turn-limits.js';
import { knownRun } from './known-run.js';
import { unpublishedOf } from './outbox.js';
import { isStoreTrouble, persistWithin, type Persist } from './persist.js';
import { resumeRun } from './resume-run.js';
import { Turn } from './turn.js';
import { GaveUp, TurnWork } from './turn-work.js';
import { handOver } from './wake.js';

/** Lost races in a row after which the message is given back. */
const maxPasses = 12;

/**
 * One turn of a run: read, replay, take in what is new, commit, carry out, until the run is quiet; then its markers.
 * Returning normally is the acknowledgement; throwing gives the message back to the queue. A turn that loses a commit
 * drops all it knows and reads again; nobody but a turn writes commits. One that has work in hand which the store does
 * not take hands the run over to another turn, for this process lives: its message must not look like one of a process
 * that died.
 */
export async function runTurn(deps: Deps, message: TurnMessage, limits: TurnLimits): Promise<void> {
  const work = new TurnWork();
  try {
    await runPasses(deps, message, limits, work);
  } finally {
    work.abandonSteps();
  }
}

async function runPasses(
  deps: Deps,
  { runId, news, unharmed }: TurnMessage,
  limits: TurnLimits,
  work: TurnWork,
): Promise<void> {
  const turnId = deps.random.hex(16);
  const called = new Set<string>();
  for (let pass = 0; pass < maxPasses; pass++) {
    try {
      if (await runPass(deps, runId, { turnId, called, limits, news, work, unharmed })) return;
    } catch (error) {
      if (isEngineError(error) && isOfTheRun.has(error.code)) return parkUnreadable(deps, runId, error);
      const isInHand = error instanceof GaveUp || (isStoreTrouble(error) && !work.isEmpty);
      if (isInHand) return giveUp(deps, runId, work, error);
      // The write may or may not be in the log: what is there decides.
      if (!hasCode(error, 'STORE_RESULT_UNKNOWN')) throw error;
      deps.log.warn('store result unknown, reading again', { runId });
    }
  }
  const lost = new EngineError('STORE_UNAVAILABLE', `run ${runId}: no commit came through in ${maxPasses} passes`);
  if (work.isEmpty) throw lost;
  await giveUp(deps, runId, work, lost);
}

/** What is under way ends first, so that nobody does it a second time meanwhile. */
async function giveUp(deps: Deps, runId: RunId, work: TurnWork, error: Error): Promise<void> {
  deps.log.warn('turn gives up: the store does not take what it has done', { runId, error });
  await work.allEnd();
  await handOver(deps, runId, work.unharmed());
}

/** Trouble that lies in the run itself: another delivery of the message would meet it again. */
const isOfTheRun: ReadonlySet<EngineErrorCode> = new Set([
  'PAYLOAD_TOO_LARGE',
  'PAYLOAD_UNREADABLE',
  'HISTORY_FORMAT_UNKNOWN',
  'INTERNAL',
] as const);

/**
 * Says on the head why the run cannot go on. Its markers stay, but for the head's, which backs off. A head that cannot be
 * read itself is skipped: another delivery would not read it either, and the sweep comes back to it.
 */
async function parkUnreadable(deps: Deps, runId: RunId, error: EngineError): Promise<void> {
  let head: RunHead | undefined;
  try {
    head = await deps.store.readHead(runId);
  } catch (unreadable) {
    if (!isUnreadable(unreadable)) throw unreadable;
    deps.log.warn('run skipped: it cannot be read', { runId, code: unreadable.code, reason: unreadable.message });
  }
  if (head !== undefined) await blockRun(deps, head, head.dueSeq, storedError(error.code, error.message));
}

interface PassOptions {
  readonly turnId: string;
  readonly called: Set<string>;
  readonly limits: TurnLimits;
  readonly news?: readonly News[] | undefined;
  readonly work: TurnWork;
  readonly unharmed?: readonly UnharmedStart[] | undefined;
}

/** False: another owner or an unknown result came in between, read again. */
async function runPass(deps: Deps, runId: RunId, options: PassOptions): Promise<boolean> {
  // The first read is as good as the message; later ones have work in hand that would be lost.
  const read: Persist = options.work.isEmpty ? (request) => request() : persistWithin(deps, options.limits);
  const warm = await read(() => resumeRun(deps, runId, options.news));
  if (warm !== undefined) return new Turn(deps, warm, options).run(workflowOf(deps.app, warm.head));
  const records = await read(() => deps.store.readRun(runId));
  if (records === undefined) {
    deps.log.warn('turn for an unknown run', { runId });
    return true;
  }
  const state = foldHistory(records.commits);
  if (state.ended) {
    await afterEnd(deps, runId, options.limits);
    return true;
  }
  if (state.ending !== undefined) {
    await finishRun(deps, runId, options.limits);
    return true;
  }
  return new Turn(deps, knownRun(records, state, unpublishedOf(deps, records)), options).run(
    workflowOf(deps.app, records.head),
  );
}
