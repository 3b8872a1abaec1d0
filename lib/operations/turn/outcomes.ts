import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import type { RunOutcome } from '../../history/event.js';
import type { InboxRecord } from '../../history/records.js';

type Terminate = InboxRecord & { readonly kind: 'terminate' };
type Cancel = InboxRecord & { readonly kind: 'cancel' };

/** Returns true for a request that ends the run without its code. */
export function isTerminate(item: InboxRecord): item is Terminate {
  return item.kind === 'terminate';
}

/** Returns true for a request that asks the workflow to stop. */
export function isCancel(item: InboxRecord): item is Cancel {
  return item.kind === 'cancel';
}

/** Creates the outcome of a run that was cancelled before its code had begun. */
export function cancelled({ reason }: { readonly reason?: string }): RunOutcome {
  return { status: 'cancelled', ...defined({ reason }) };
}

/** Creates the outcome of a run that was terminated. */
export function terminated({ reason }: { readonly reason?: string }): RunOutcome {
  return { status: 'terminated', ...defined({ reason }) };
}

/** Creates the reason for blocking a run whose workflow this deployment does not have. */
export function workflowMissing(name: string): StoredError {
  return storedError(
    'WORKFLOW_NOT_FOUND',
    `no workflow is named "${name}" in this deployment; the run goes on by itself after a deployment that has it`,
  );
}
