import type { WorkMessage } from '../queue/queue.js';
import type { Deps } from './deps.js';
import { pollTask } from './poll-task.js';
import { wakeRun } from './wake.js';

/** One message of the standard queue. Throws when it must be delivered again. */
export async function handleWork(deps: Deps, message: WorkMessage): Promise<void> {
  switch (message.kind) {
    case 'poll':
      await pollTask(deps, message);
      return;
    case 'wake':
      // The turn queue drops the second of two wakes for one due instant; one turn sees all that is due.
      await wakeRun(deps, message.runId, `due-${message.runId}-${message.dueAtMs}`);
      return;
  }
}
