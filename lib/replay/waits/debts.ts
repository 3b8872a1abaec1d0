import type { Scope } from './scope.js';

/** Closed scopes, and what to resume when they owe nothing. */
interface Closing {
  readonly scopes: readonly Scope[];
  readonly resume: () => void;
}

/** Races and scopes that closed a part of the workflow, and wait until its shielded parts and sagas have ended. */
export class Debts {
  #closing: Closing[] = [];

  /** Whether something that was closed still owes something. */
  get isOwing(): boolean {
    return this.#closing.length > 0;
  }

  /**
   * Resolves when the microtask queue is empty and `closed` owe nothing. Until then `around` owes it too, so whatever
   * closes `around` waits for it.
   */
  paid(around: Scope, closed: readonly Scope[]): Promise<void> {
    const paid = around.owe();
    return new Promise((resolve) => {
      this.#closing.push({
        scopes: closed,
        resume: () => {
          paid();
          resolve();
        },
      });
    });
  }

  /** Called when the microtask queue is empty: resumes what waits for that. Returns false if nothing does. */
  resumePaid(): boolean {
    const isPaid = ({ scopes }: Closing): boolean => scopes.every(({ owed }) => owed === 0);
    const paid = this.#closing.filter(isPaid);
    if (paid.length === 0) return false;
    this.#closing = this.#closing.filter((closing) => !isPaid(closing));
    for (const { resume } of paid) resume();
    return true;
  }
}
