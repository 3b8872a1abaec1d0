import { lazy } from '../../base/lazy.js';
import type { RunHead } from '../../history/records.js';
import type { Deps } from '../deps.js';

/** Loads what turns of served runs need to note what is to be pushed. */
export const loadRaiseOwed = lazy(() => import('../serve/raise-owed.js'));

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
