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

/** What the context needs of the execution that it belongs to. */
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
  /** Makes the context of a scope within. */
  contextOf(scope: Scope): WorkflowContext;
  /** Called with what the author did wrong when the context is used from outside its turn. */
  misused(error: StoredError): void;
}

/** @throws EngineError `WORKFLOW_STUCK` when the workflow's code does not run now */
export function checkTurn(host: ContextHost, method: string): void {
  checkDeed(host, `ctx.${method} was called`);
}

/** The same for something that is no call of a method. */
export function checkDeed(host: ContextHost, deed: string): void {
  if (host.position.isAdvancing) return;
  const error = storedError(
    'WORKFLOW_STUCK',
    `${deed} outside of the workflow's turn: inside a step, or after something awaited a promise that is not one of ctx. Work of your own belongs into ctx.step, calls of ctx beside it.`,
  );
  host.misused(error);
  throw new EngineError(error.code, error.message);
}
