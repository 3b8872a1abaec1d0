import type { WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { withContext } from '../base/log.js';
import { foldHistory, type RunState } from '../history/run-state.js';
import { Execution } from '../replay/execution.js';
import type { InboxRecord, RunHead, RunRecords, TokenRecord } from '../history/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Deps } from './deps.js';
import { lineOfRun } from './line-of-run.js';

/** Records read of a run, indexed by the ids in its events. */
interface RunToOpen {
  readonly head: RunHead;
  readonly state: RunState;
  readonly tokens: ReadonlyMap<WaitId, TokenRecord>;
  readonly inbox: ReadonlyMap<string, InboxRecord>;
}

/** Opens an execution of a run's workflow over what was read of the run; no event has been applied yet. */
export function openExecution(
  deps: Pick<Deps, 'drain' | 'watch' | 'placeOf' | 'digest' | 'log' | 'tokens'>,
  workflow: AnyWorkflow,
  { head, state, tokens, inbox }: RunToOpen,
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
      if (item?.kind === 'message') return { payload: item.payload as unknown as JsonValue };
      return item?.kind === 'signal' ? item : undefined;
    },
    tokenOf: (waitId, keyId) => deps.tokens.settleToken({ runId, waitId }, keyId),
    patches: state.patches,
    drain: deps.drain,
    watch: deps.watch,
    placeOf: deps.placeOf,
    digest: deps.digest,
    log: withContext(deps.log, () => lineOfRun(deps.digest, head)),
  });
}

/** Opens an execution over all records of a run. */
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
