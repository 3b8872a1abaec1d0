import { silentLog } from '../../lib/base/log.js';
import { system } from '../../lib/process/system.js';
import { Execution, type ExecutionStatus } from '../../lib/replay/execution.js';
import type { RunRecords } from '../../lib/history/records.js';
import type { AnyWorkflow } from '../../lib/workflow/define-workflow.js';

/**
 * Returns the state of the workflow after its whole history. An execution has no transports, so it cannot call a
 * server.
 */
export async function replayHistory(
  { head, commits, tokens }: RunRecords,
  workflow: AnyWorkflow,
): Promise<ExecutionStatus> {
  const execution = new Execution({
    workflow,
    runId: head.runId,
    input: head.input,
    seed: head.seed,
    start: head,
    settlementOf: (waitId) => tokens.find((token) => token.waitId === waitId)?.settlement?.outcome,
    drain: system.drain,
    digest: system.digest,
    log: silentLog,
  });
  for (const { events } of commits) for (const event of events) await execution.apply(event);
  return execution.status;
}
