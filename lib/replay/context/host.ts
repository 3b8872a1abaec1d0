import { EngineError, storedError, type StoredError } from '../../base/errors.js';
import type { WaitId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { Log } from '../../base/log.js';
import type { EpochMs } from '../../base/time.js';
import type { AskedQuestion } from '../../history/remote-question.js';
import type { WorkflowContext } from '../../workflow/context.js';
import type { Command } from '../command.js';
import type { SeededRandom } from '../seeded.js';
import type { Signals } from '../signals.js';
import type { Scope, Waits } from '../waits.js';

/** What the context needs of the execution that it belongs to. */
export interface ContextHost {
  readonly runId: string;
  readonly seed: string;
  readonly waits: Waits;
  readonly signals: Signals;
  readonly random: SeededRandom;
  readonly digest: (text: string) => string;
  readonly log: Log;
  /** The context of a scope within. */
  contextOf(scope: Scope): WorkflowContext;
  /** True while the workflow's own code may run: between an event and the end of its microtasks. */
  isAdvancing(): boolean;
  /** False while recorded events are replayed. */
  isLive(): boolean;
  nowMs(): EpochMs;
  eventCount(): number;
  /** What is done with the questions of a call; undefined: nothing any more. */
  onQuestion(waitId: WaitId, ask: ((asked: AskedQuestion) => void) | undefined): void;
  /** The text of a token, once its item is there. */
  tokenIssued(waitId: WaitId): Promise<string>;
  isPatched(patchId: string): boolean;
  reportProgress(progress: JsonValue): void;
  setQuery(name: string, handler: (input: JsonValue | undefined) => unknown): void;
  /** Called with what the author did wrong when the context is used from outside its turn. */
  misused(error: StoredError): void;
  /** Called when compensations of a saga have failed. */
  notUndone(error: EngineError): void;
  /** Called with what a part of the workflow has just asked for and does not wait for, for it has ended. */
  dropped(asked: readonly Command[]): void;
}

/** @throws EngineError `WORKFLOW_STUCK` when the workflow's code does not run now */
export function checkTurn(host: ContextHost, method: string): void {
  checkDeed(host, `ctx.${method} was called`);
}

/** The same for something that is no call of a method. */
export function checkDeed(host: ContextHost, deed: string): void {
  if (host.isAdvancing()) return;
  const error = storedError(
    'WORKFLOW_STUCK',
    `${deed} outside of the workflow's turn: inside a step, or after something awaited a promise that is not one of ctx. Work of your own belongs into ctx.step, calls of ctx beside it.`,
  );
  host.misused(error);
  throw new EngineError(error.code, error.message);
}
