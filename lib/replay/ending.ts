import { defined } from '../base/defined.js';
import type { EngineError } from '../base/errors.js';
import { isEngineError, RunCancelled, storedError, toStoredError } from '../base/errors.js';
import { toJson, type JsonValue } from '../base/json.js';
import { storedThrown } from '../base/thrown.js';
import { jsonBytes, jsonOverLimit } from '../base/json-limit.js';
import type { RunOutcome } from '../history/event.js';
import type { Cancels } from './cancels.js';
import { ContinueAsNew } from './continue-as-new.js';
import type { DroppedWork } from './dropped-work.js';
import type { Position } from './position.js';
import type { RunFacts } from './run-facts.js';
import type { Waits } from './waits/waits.js';

interface Parts {
  readonly facts: RunFacts;
  readonly waits: Waits;
  readonly cancels: Cancels;
  readonly dropped: DroppedWork;
  readonly position: Readonly<Position>;
}

/**
 * Ends a run once the workflow's function has settled.
 *
 * X5  The run has ended when its function has settled, everything else is closed, and nothing is owed: shielded parts
 *     and sagas have ended, and what outlives the run is started. The outcome is that of the function.
 */
export class Ending {
  readonly #parts: Parts;
  /** The outcome of the workflow's function, once it has settled. */
  #settled: RunOutcome | undefined;
  #outcome: RunOutcome | undefined;
  /** Error of a saga that the end of the run closed and whose compensations failed. */
  #notUndone: EngineError | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The outcome of the run, once it has ended. */
  get outcome(): RunOutcome | undefined {
    return this.#outcome;
  }

  /** Records that the workflow's function has returned. */
  returned(result: unknown): void {
    this.#settle(completed(result));
  }

  /** Records that the workflow's function has thrown. */
  threw(error: unknown): void {
    this.#settle(this.#failed(error));
  }

  /** Records the outcome of the function. Under rules 1 the run ends with it. */
  #settle(outcome: RunOutcome): void {
    const { waits, dropped } = this.#parts;
    this.#settled = outcome;
    if (waits.isStructured) return;
    dropped.atEnd(waits.openUnrecorded());
    this.#outcome = outcome;
  }

  #failed(error: unknown): RunOutcome {
    const { facts, cancels, position } = this.#parts;
    const { log } = facts;
    if (error instanceof ContinueAsNew) {
      // Derived from the seed, which is secret: the next run's id may be a task id.
      const nextRunId = facts.digest(`next ${facts.seed}`).slice(0, 32);
      return { status: 'continued', nextRunId, ...defined({ input: error.input }) };
    }
    const cancelled = cancels.outcomeOf(error);
    if (cancelled !== undefined) return cancelled;
    // The run keeps only a part of it; the log has the stack.
    if (position.isLive && !isEngineError(error)) log.warn('workflow failed', { error });
    return { status: 'failed', error: storedThrown(error, 'WORKFLOW_FAILED', facts.placeOf?.(error)) };
  }

  /** Records that compensations of a saga failed. Before the function settles, the function itself sees the error. */
  notUndone(error: EngineError): void {
    if (this.#settled !== undefined) this.#notUndone ??= error;
  }

  /**
   * Called when the microtask queue is empty, under rules 2. Resumes what waits for that, then closes the run, then
   * ends it. Returns true if the workflow's code may have something to do.
   */
  wrapUp(): boolean {
    const { waits, dropped } = this.#parts;
    if (waits.debts.resumePaid()) return true;
    if (this.#settled === undefined) return false;
    if (!waits.isRunClosed) {
      dropped.atEnd(waits.openUnrecorded(waits.root));
      if (waits.closeRun(new RunCancelled('RUN_CANCELLED', 'this wait was closed: the run ends'))) return true;
    }
    if (waits.root.owed > 0 || !waits.leaveRun()) return false;
    // Work that was requested within shields that have ended.
    dropped.atEnd(waits.openUnrecorded());
    this.#outcome = this.#withWhatWasNotUndone(this.#settled);
    return false;
  }

  /** Turns a cancel into a failure if a compensation failed. */
  #withWhatWasNotUndone(outcome: RunOutcome): RunOutcome {
    if (outcome.status !== 'cancelled' || this.#notUndone === undefined) return outcome;
    return { status: 'failed', error: toStoredError(this.#notUndone, 'WORKFLOW_FAILED') };
  }
}

function completed(result: unknown): RunOutcome {
  let json: JsonValue | undefined;
  try {
    json = toJson(result);
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    return {
      status: 'failed',
      error: storedError('WORKFLOW_FAILED', `the result of the workflow is not JSON: ${why}`),
    };
  }
  const error = jsonOverLimit('the result of the workflow is', jsonBytes(json));
  if (error !== undefined) return { status: 'failed', error };
  return { status: 'completed', ...defined({ result: json }) };
}
