import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import type { RunOutcome } from '../../history/event.js';
import type { InboxRecord } from '../../history/records.js';

type Terminate = InboxRecord & { readonly kind: 'terminate' };
type Cancel = InboxRecord & { readonly kind: 'cancel' };

/** Narrows a request to one that ends the run without asking its code. */
export function isTerminate(item: InboxRecord): item is Terminate {
  return item.kind === 'terminate';
}

/** Narrows a request to one that tells the workflow to stop. */
export function isCancel(item: InboxRecord): item is Cancel {
  return item.kind === 'cancel';
}

/** The outcome of a run that was cancelled before its code had begun. */
export function cancelled({ reason }: { readonly reason?: string }): RunOutcome {
  return { status: 'cancelled', ...defined({ reason }) };
}

/** The outcome of a run that was terminated. */
export function terminated({ reason }: { readonly reason?: string }): RunOutcome {
  return { status: 'terminated', ...defined({ reason }) };
}

/** Why a run is blocked whose workflow this deployment does not have. */
export function workflowMissing(name: string): StoredError {
  return storedError(
    'WORKFLOW_NOT_FOUND',
    `no workflow is named "${name}" in this deployment; after a deploy that has it the run goes on by itself`,
  );
}
