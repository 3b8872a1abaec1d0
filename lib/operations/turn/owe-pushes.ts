import type { RunOutcome } from '../../history/event.js';
import { lazy } from '../../base/lazy.js';
import type { RunHead } from '../../history/records.js';
import type { Deps } from '../deps.js';

/** Loads what turns of served runs need to note what is to be pushed. */
export const loadRaiseOwed = lazy(() => import('../serve/raise-owed.js'));

/** Loads what the end of a run with a callback needs. */
export const loadRunCallback = lazy(() => import('../serve/run-callback.js'));

/**
 * Notes on the push configs of a served run what they owe. A turn does it before its own markers go, whatever it has
 * committed: the turn that did may have died since.
 */
export async function owePushes(deps: Deps, head: RunHead): Promise<void> {
  const { task } = head;
  if (task === undefined || deps.pushSender === undefined) return;
  const { raiseOwed } = await loadRaiseOwed();
  await raiseOwed(deps, { ...head, task });
}

/** Owes the end of a run to its callback, unless the run goes on as another one. May repeat. */
export async function oweCallback(deps: Deps, head: RunHead, { status }: RunOutcome): Promise<void> {
  if (head.callback === undefined || status === 'continued' || deps.pushSender === undefined) return;
  const { putCallback } = await loadRunCallback();
  await putCallback(deps, head.runId, head.callback);
}
