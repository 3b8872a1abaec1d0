import type { RunId } from '../base/ids.js';
import type { Log } from '../base/log.js';
import type { StartFacts } from '../history/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';

/** Facts that stay the same from the start to the end of a run. */
export interface RunFacts {
  readonly workflow: AnyWorkflow;
  readonly runId: RunId;
  readonly seed: string;
  readonly start: StartFacts;
  /** Returns the SHA-256 digest in hex. */
  readonly digest: (text: string) => string;
  /** Each line names the run, its workflow and its trace. */
  readonly log: Log;
  /** Returns where an error was thrown, as `report.ts:12:7`. Default: that is not known. */
  readonly placeOf?: ((thrown: unknown) => string | undefined) | undefined;
}
