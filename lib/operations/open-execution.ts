import type { WaitId } from '../base/ids.js';
import { foldHistory, type RunState } from '../history/run-state.js';
import { Execution } from '../replay/execution.js';
import type { InboxRecord, RunHead, RunRecords, TokenRecord } from '../history/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Deps } from './deps.js';

/** What was read of a run, by the ids that its events name. */
interface KnownRun {
  readonly head: RunHead;
  readonly state: RunState;
  readonly tokens: ReadonlyMap<WaitId, TokenRecord>;
  readonly inbox: ReadonlyMap<string, InboxRecord>;
}

/** An execution of a run's workflow over what was read of the run; no event has been applied yet. */
export function openExecution(
  deps: Pick<Deps, 'drain' | 'digest' | 'log' | 'tokens'>,
  workflow: AnyWorkflow,
  { head, state, tokens, inbox }: KnownRun,
): Execution {
  const { runId, input, seed } = head;
  return new Execution({
    workflow,
    runId,
    input,
    seed,
    start: head,
    settlementOf: (waitId) => tokens.get(waitId)?.settlement?.outcome,
    signalOf: (inboxId) => {
      const item = inbox.get(inboxId);
      return item?.kind === 'signal' ? item : undefined;
    },
    tokenOf: (waitId, keyId) => deps.tokens.settleToken({ runId, waitId }, keyId),
    patches: state.patches,
    drain: deps.drain,
    digest: deps.digest,
    log: deps.log,
  });
}

/** The same over the whole of what was read of the run. */
export function openRecords(
  deps: Parameters<typeof openExecution>[0],
  workflow: AnyWorkflow,
  { head, commits, tokens, inbox }: RunRecords,
): Execution {
  return openExecution(deps, workflow, {
    head,
    state: foldHistory(commits),
    tokens: new Map(tokens.map((token) => [token.waitId, token])),
    inbox: new Map(inbox.map((item) => [item.inboxId, item])),
  });
}
