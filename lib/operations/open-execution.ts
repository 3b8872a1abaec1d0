import type { WaitId } from '../base/ids.js';
import type { RunState } from '../history/run-state.js';
import { Execution } from '../replay/execution.js';
import type { InboxRecord, RunHead, TokenRecord } from '../store/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Deps } from './deps.js';

/** An execution of a run's workflow over what was read of the run; no event has been applied yet. */
export function openExecution(
  deps: Pick<Deps, 'drain' | 'digest' | 'log' | 'tokens'>,
  workflow: AnyWorkflow,
  head: RunHead,
  state: RunState,
  tokens: ReadonlyMap<WaitId, TokenRecord>,
  inbox: ReadonlyMap<string, InboxRecord>,
): Execution {
  const { runId, input, seed } = head;
  return new Execution({
    workflow,
    runId,
    input,
    seed,
    settlementOf: (waitId) => tokens.get(waitId)?.settlement?.outcome,
    signalPayloadOf: (inboxId) => {
      const item = inbox.get(inboxId);
      return item?.kind === 'signal' ? item.payload : undefined;
    },
    tokenOf: (waitId, keyId) => deps.tokens.settleToken({ runId, waitId }, keyId),
    patches: state.patches,
    drain: deps.drain,
    digest: deps.digest,
    log: deps.log,
  });
}
