import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { RunHead } from '../../history/records.js';
import { chainOf } from '../chain.js';
import type { Deps } from '../deps.js';
import { askToStop } from './stop-run.js';

/** Bounds of the interval at which a run checks whether the run that it replaces has ended. */
const replacedLookMinMs = 1_000;
const replacedLookMaxMs = 60_000;

/**
 * Returns when a run that replaces another one looks again, because that one or its successor has not ended; undefined
 * if nothing holds it up. Until then the run does nothing. In a chain of replacements each waits for the one before.
 */
export async function nextLookAtMs(
  deps: Deps,
  { afterRunId, createdAtMs }: Pick<RunHead, 'afterRunId' | 'createdAtMs'>,
): Promise<EpochMs | undefined> {
  if (afterRunId === undefined) return undefined;
  const chain = await chainOf(deps, afterRunId);
  if (chain?.isUnderWay !== true) return undefined;
  // The process that started this run may have died before it could ask, or the chain may have moved on.
  await terminateReplaced(deps, chain.head.runId);
  const nowMs = deps.clock.nowMs();
  return nowMs + Math.min(Math.max(nowMs - createdAtMs, replacedLookMinMs), replacedLookMaxMs);
}

/** Terminates a run that another one replaces. Never throws: the run that waits for it asks again. */
export async function terminateReplaced(deps: Deps, runId: RunId): Promise<void> {
  const reason = 'a new run with its id was started';
  try {
    await askToStop(deps, { runId, kind: 'terminate', requestId: 'replaced', reason });
  } catch (error) {
    deps.log.warn('terminate of a replaced run not sent', { runId, error });
  }
}
