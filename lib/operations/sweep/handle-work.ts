import { lazy } from '../../base/lazy.js';
import type { WorkMessage } from '../../queue/queue.js';
import type { Deps } from '../deps.js';
import type { SlowReceivers } from '../serve/deliver-pushes.js';
import { pollTask } from '../remote-task/poll-task.js';
import { wakeRunForDue } from '../wake.js';

/** Loads what pushes need; most work is reads. */
export const loadDelivery = lazy(() => import('../serve/deliver-pushes.js'));

/**
 * Handles a message of the standard queue. Throws if it must be delivered again. `slow`: the receivers of pushes that are
 * known to answer slowly; default: none is.
 */
export async function handleWork(deps: Deps, message: WorkMessage, slow?: SlowReceivers): Promise<void> {
  switch (message.kind) {
    case 'poll':
      await pollTask(deps, message);
      return;
    case 'push': {
      const { deliverPushes } = await loadDelivery();
      await deliverPushes(deps, message, slow);
      return;
    }
    case 'wake':
      await wakeRunForDue(deps, message.runId, message.dueAtMs);
      return;
  }
}
