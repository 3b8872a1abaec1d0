import type { RunId } from '../base/ids.js';
import type { Log } from '../base/log.js';
import type { StartFacts } from '../history/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';

/** What is the same for a run from its start to its end. */
export interface RunFacts {
  readonly workflow: AnyWorkflow;
  readonly runId: RunId;
  readonly seed: string;
  readonly start: StartFacts;
  /** SHA-256 in hex. */
  readonly digest: (text: string) => string;
  readonly log: Log;
}
