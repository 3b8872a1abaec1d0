import { contextOfRun, type Traced } from '../base/trace-context.js';
import type { RunHead } from '../history/records.js';
import type { Deps } from './deps.js';

/** The fields of a run that each line of its author's log has. */
export type LoggedRun = Pick<RunHead, 'runId' | 'workflow' | 'traceparent' | 'previousRunId'>;

/** Returns what each line of the author's log in a run begins with. */
export function lineOfRun(
  digest: Deps['digest'],
  run: LoggedRun,
): { readonly runId: string; readonly workflow: string; readonly traceId: string } {
  const { runId, workflow } = run;
  return { runId, workflow, traceId: contextOfRun(digest, run).traceId };
}

/** Returns the fields of a run that decide its trace, without those that may be large. */
export function tracedOf({ runId, traceparent, previousRunId }: Traced): Traced {
  return { runId, traceparent, previousRunId };
}
