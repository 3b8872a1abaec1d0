import { defined } from '../../base/defined.js';
import type { Caller } from '../../base/caller.js';
import type { JsonValue } from '../../base/json.js';
import type { RunDeed } from '../../replay/command.js';
import type { Deps } from '../deps.js';
import type { LoggedRun } from '../line-of-run.js';
import { requireOwnRun } from '../own-run.js';
import { signalRun } from '../requests/signal-run.js';
import { startRun } from '../requests/start-run.js';

/**
 * Carries out what a run asks of another one, as a caller of its tenant. Repeats with the same key are one.
 * @throws EngineError as the requests do
 */
export async function carryOut(deps: Deps, run: LoggedRun, deed: RunDeed, key: string): Promise<JsonValue> {
  const access = await deps.store.heads.readAccess(run.runId);
  const caller: Caller = { id: `run:${run.runId}`, roles: [], ...defined({ tenant: access?.tenant }) };
  const own = { ...deps, caller };
  if (deed.kind === 'signalRun') {
    const { runId, name, payload } = deed;
    await requireOwnRun(own, runId);
    return (await signalRun(own, runId, { name, key, ...defined({ payload }) })).accepted;
  }
  const { workflow, input, options } = deed;
  const { traceparent } = run;
  const started = await startRun(own, { workflow, key, ...options, ...defined({ input, traceparent }) });
  return started.runId;
}
