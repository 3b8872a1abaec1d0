import type { StoredError } from '../../base/errors.js';
import { fittingCount } from '../../decide/new-events.js';
import type { HistoryEvent } from '../../history/event.js';
import { blockRun } from './block-run.js';
import { commit } from './commit.js';
import { isOnlyKnownHere } from './effects.js';
import { owePushes } from './owe-pushes.js';
import type { PassContext } from './pass-context.js';
import { clearAllMarkers } from './rest.js';

/**
 * Parks a run that cannot go on with this deployment. Nothing that was read is taken in, so nothing is lost; only the
 * head's marker brings the run back, less and less often. Results of effects are in no item yet, so they are committed:
 * otherwise steps would run again each time, and a start that was refused would look like one of unknown fate. Returns
 * false if a commit was lost.
 */
export async function park(
  pass: PassContext,
  error: StoredError,
  taken: readonly HistoryEvent[] = [],
): Promise<boolean> {
  const { deps, run, effects, outbox } = pass;
  effects.takeBack(taken);
  if (!(await recordInHand(pass))) return false;
  await owePushes(deps, run.head);
  if (await blockRun(deps, run.head, { seq: run.state.seq, error, outbox })) await clearAllMarkers(pass);
  return true;
}

/** Waits for what is under way, and commits only its results. Returns false if a commit was lost. */
async function recordInHand(pass: PassContext): Promise<boolean> {
  const { effects } = pass;
  await effects.allEnd();
  const { results } = effects;
  while (results.length > 0) {
    const fitting = results.splice(0, fittingCount(results)).filter((event) => isOnlyKnownHere.has(event.type));
    if (fitting.length > 0 && !(await commit(pass, fitting))) return false;
  }
  return true;
}
