import {
  EngineError,
  hasCode,
  isEngineError,
  isUnreadable,
  storedError,
  type EngineErrorCode,
} from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { News, TurnMessage } from '../queue/queue.js';
import type { RunHead, RunRecords } from '../store/records.js';
import { workflowOf } from '../workflow/app.js';
import { blockRun } from './block-run.js';
import type { Deps } from './deps.js';
import { afterEnd, finishRun } from './end-run.js';
import { foldHistory, type OpenTokenWait, type RunState } from '../history/run-state.js';
import type { TurnLimits } from './turn-limits.js';
import { knownRun } from './known-run.js';
import { unpublishedOf } from './outbox.js';
import { resumeRun } from './resume-run.js';
import { Turn } from './turn.js';

/** Lost races in a row after which the message is given back. */
const maxPasses = 12;

/**
 * One turn of a run: read, replay, take in what is new, commit, carry out, until the run is quiet; then its markers.
 * Returning normally is the acknowledgement; throwing gives the message back to the queue. A turn that loses a commit
 * drops all it knows and reads again; nobody but a turn writes commits.
 */
export async function runTurn(deps: Deps, { runId, news }: TurnMessage, limits: TurnLimits): Promise<void> {
  const turnId = deps.random.hex(16);
  const called = new Set<string>();
  for (let pass = 0; pass < maxPasses; pass++) {
    try {
      if (await runPass(deps, runId, { turnId, called, limits, news })) return;
    } catch (error) {
      if (isEngineError(error) && isOfTheRun.has(error.code)) return parkUnreadable(deps, runId, error);
      // The write may or may not be in the log: what is there decides.
      if (!hasCode(error, 'STORE_RESULT_UNKNOWN')) throw error;
      deps.log.warn('store result unknown, reading again', { runId });
    }
  }
  throw new EngineError('STORE_UNAVAILABLE', `run ${runId}: no commit came through in ${maxPasses} passes`);
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
}

/** False: another owner or an unknown result came in between, read again. */
async function runPass(deps: Deps, runId: RunId, options: PassOptions): Promise<boolean> {
  const warm = await resumeRun(deps, runId, options.news);
  if (warm !== undefined) return new Turn(deps, warm, options).run(workflowOf(deps.app, warm.head));
  const records = await deps.store.readRun(runId);
  if (records === undefined) {
    deps.log.warn('turn for an unknown run', { runId });
    return true;
  }
  const state = foldHistory(records.commits);
  checkWhole(records, state);
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

/**
 * Of what the log and the head say that there is, nothing is missing: else work would be done again, or waited for that
 * nobody does.
 * @throws EngineError `HISTORY_FORMAT_UNKNOWN`
 */
function checkWhole({ head, tokens }: RunRecords, state: RunState): void {
  if (head.dueSeq > state.seq)
    throw new EngineError('HISTORY_FORMAT_UNKNOWN', `commit ${state.seq + 1} of the history is not there`);
  if (state.ending !== undefined) return;
  const known = new Set(tokens.map(({ waitId }) => waitId));
  for (const wait of state.openTokens.values())
    if (hadToken(wait) && !known.has(wait.waitId))
      throw new EngineError(
        'HISTORY_FORMAT_UNKNOWN',
        `wait ${wait.waitId}: the history refers to a token that is not there`,
      );
}

/** The log says that its item was put. */
function hadToken(wait: OpenTokenWait): boolean {
  switch (wait.kind) {
    case 'remoteTask':
      return wait.handle !== undefined;
    case 'external':
      return wait.issued;
    case 'child':
      return wait.started;
    case 'longStep':
      return false;
  }
}
