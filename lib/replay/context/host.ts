import { EngineError, storedError, type StoredError } from '../../base/errors.js';
import type { WorkflowContext } from '../../workflow/context.js';
import type { RunInfo } from '../../workflow/run-info.js';
import type { Derived } from '../derived.js';
import type { DroppedWork } from '../dropped-work.js';
import type { Ending } from '../ending.js';
import type { Position } from '../position.js';
import type { Queries } from '../queries.js';
import type { RunFacts } from '../run-facts.js';
import type { CallKeys } from '../run-info.js';
import type { Scope } from '../waits/scope.js';
import type { SeededRandom } from '../seeded.js';
import type { Signals } from '../waits/signals.js';
import type { WaitNews } from '../waits/wait-news.js';
import type { Waits } from '../waits/waits.js';

/** Parts of an execution that its context needs. */
export interface ContextHost extends RunFacts {
  readonly position: Readonly<Position>;
  readonly waits: Waits;
  readonly signals: Signals;
  readonly news: WaitNews;
  readonly queries: Queries;
  readonly derived: Derived;
  readonly dropped: DroppedWork;
  readonly ending: Ending;
  readonly random: SeededRandom;
  readonly info: RunInfo;
  readonly callKeys: CallKeys;
  /** Creates the context of an inner scope. */
  contextOf(scope: Scope): WorkflowContext;
  /** Called with the author's mistake if the context is used outside of its turn. */
  misused(error: StoredError): void;
}

/** Checks that the workflow's code is running. @throws EngineError `WORKFLOW_STUCK` */
export function checkTurn(host: ContextHost, method: string): void {
  checkDeed(host, `ctx.${method} was called`);
}

/** Checks the same for a deed that is not a call of a method. */
export function checkDeed(host: ContextHost, deed: string): void {
  if (host.position.isAdvancing) return;
  const error = storedError(
    'WORKFLOW_STUCK',
    `${deed} outside of the workflow's turn: inside a step, or after awaiting a promise that is not from ctx. Put your own work into ctx.step, and call ctx outside of steps.`,
  );
  host.misused(error);
  throw new EngineError(error.code, error.message);
}
