import { defined } from '../base/defined.js';
import { hasCode, RunCancelled } from '../base/errors.js';
import type { CancelRequested, RunOutcome } from '../history/event.js';
import type { Waits } from './waits/waits.js';

/** Tracks the cancels of the run that were applied, and whether the workflow has heard of them. */
export class Cancels {
  readonly #waits: Waits;
  /** Created when the first cancel comes: creating an error captures a stack, and few runs need one. */
  #first: { readonly error: RunCancelled; readonly outcome: RunOutcome } | undefined;
  /** Inbox ids of cancels that have not reached a wait yet. */
  #pending: string[] = [];
  /** Inbox ids of cancels that came after the end of the workflow. */
  readonly #late: string[] = [];

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /** Whether all applied cancels have reached a wait of the workflow: if not, none was open, or it had ended. */
  get areHeard(): boolean {
    return this.#late.length === 0 && !this.#waits.hasPendingCancel;
  }

  /** Inbox ids of the applied cancels that have reached no wait of the workflow. */
  get unheard(): readonly string[] {
    return [...(this.#waits.hasPendingCancel ? this.#pending : []), ...this.#late];
  }

  /** Records a cancel. Returns the error to reject open waits with: the same one for all cancels. */
  take({ inboxId, reason }: CancelRequested): RunCancelled {
    this.#first ??= {
      error: new RunCancelled('RUN_CANCELLED', 'the run was asked to cancel'),
      outcome: { status: 'cancelled', ...defined({ reason }) },
    };
    if (!this.#waits.hasPendingCancel) this.#pending = [];
    this.#pending.push(inboxId);
    return this.#first.error;
  }

  /** Records a cancel that came after the end of the workflow. */
  takeLate({ inboxId }: CancelRequested): void {
    this.#late.push(inboxId);
  }

  /**
   * Returns the outcome if `error` is a cancel, or has one as its cause because cleanup threw. Returns undefined if a
   * compensation failed: that must be reported, so the run fails.
   */
  outcomeOf(error: unknown): RunOutcome | undefined {
    if (this.#first === undefined || !isOrWraps(error, this.#first.error)) return undefined;
    return hasCode(error, 'COMPENSATION_FAILED') ? undefined : this.#first.outcome;
  }
}

/** Returns true if `error` is `wanted`, has it as a cause, or is an AggregateError (`Promise.any`) that contains it. */
function isOrWraps(error: unknown, wanted: Error, depth = 0): boolean {
  if (error === wanted) return true;
  if (!(error instanceof Error) || depth === 8) return false;
  const inner = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error.cause];
  return inner.some((one) => isOrWraps(one, wanted, depth + 1));
}
