import { storedError } from '../../base/errors.js';
import type { HistoryEvent, RunOutcome } from '../../history/event.js';
import { loadTextHooks } from '../serve/load-text-hooks.js';
import type { PassContext } from './pass-context.js';

/** What a run that is served is about to record of what it says to its caller. */
export interface Said {
  readonly events: readonly HistoryEvent[];
  readonly outcome?: RunOutcome;
}

/**
 * Returns what is recorded in place of what the code says, after `serve.text.outgoing`: what a caller is shown is a fold
 * of the log, so the hook must have been there before. If it throws, nothing of it is recorded, and the run has failed.
 */
export async function asTold({ deps, run }: PassContext, said: Said): Promise<Said> {
  const { head } = run;
  const hook = deps.app.serve?.text?.outgoing;
  if (head.task === undefined || hook === undefined) return said;
  const { filteredForCaller } = await loadTextHooks();
  try {
    const { events, outcome } = await filteredForCaller(deps, { head, hook }, said);
    return outcome === undefined ? { events } : { events, outcome };
  } catch {
    // Its error may hold the text.
    deps.log.error('serve.text.outgoing threw: a task has failed', { runId: head.runId });
    const error = storedError('WORKFLOW_FAILED', 'serve.text.outgoing threw, so what the workflow said was withheld');
    return { events: [], outcome: { status: 'failed', error } };
  }
}
