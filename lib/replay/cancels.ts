import { defined } from '../base/defined.js';
import { hasCode, RunCancelled } from '../base/errors.js';
import type { CancelRequested, RunOutcome } from '../history/event.js';
import type { Waits } from './waits/waits.js';

/** Cancels of the run that were applied, and whether the workflow has heard them. */
export class Cancels {
  readonly #waits: Waits;
  /** Made when a cancel comes: an error takes its stack with it, and few runs need one. */
  #first: { readonly error: RunCancelled; readonly outcome: RunOutcome } | undefined;
  /** Inbox ids of the cancels that have reached no wait so far, and of those that came when the workflow had ended. */
  #pending: string[] = [];
  readonly #late: string[] = [];

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /** False when a cancel was applied and has reached no wait of the workflow: none was open, or it had ended. */
  get areHeard(): boolean {
    return this.#late.length === 0 && !this.#waits.hasPendingCancel;
  }

  /** Inbox ids of the cancels that were applied and have reached no wait of the workflow. */
  get unheard(): readonly string[] {
    return [...(this.#waits.hasPendingCancel ? this.#pending : []), ...this.#late];
  }

  /** Gives the error that open waits are to be rejected with: the same one for all cancels. */
  take({ inboxId, reason }: CancelRequested): RunCancelled {
    this.#first ??= {
      error: new RunCancelled('RUN_CANCELLED', 'the run was asked to cancel'),
      outcome: { status: 'cancelled', ...defined({ reason }) },
    };
    if (!this.#waits.hasPendingCancel) this.#pending = [];
    this.#pending.push(inboxId);
    return this.#first.error;
  }

  /** The cancel came when the workflow had ended. */
  takeLate({ inboxId }: CancelRequested): void {
    this.#late.push(inboxId);
  }

  /**
   * The outcome where a cancel came through, as itself or as the cause of what cleanup threw. What was not undone must be
   * heard of, so it is a failure.
   */
  outcomeOf(error: unknown): RunOutcome | undefined {
    if (this.#first === undefined || !isOrWraps(error, this.#first.error)) return undefined;
    return hasCode(error, 'COMPENSATION_FAILED') ? undefined : this.#first.outcome;
  }
}

/** `error` is `wanted`, has it as a cause, or is what `Promise.any` made of several of it. */
function isOrWraps(error: unknown, wanted: Error, depth = 0): boolean {
  if (error === wanted) return true;
  if (!(error instanceof Error) || depth === 8) return false;
  const inner = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error.cause];
  return inner.some((one) => isOrWraps(one, wanted, depth + 1));
}
