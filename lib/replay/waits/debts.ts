import type { Scope } from './scope.js';

/** Scopes that have been closed, and what goes on when nothing is owed there. */
interface Closing {
  readonly scopes: readonly Scope[];
  readonly resume: () => void;
}

/** Races and scopes that have closed a part of the workflow and wait until it has done what it owes: shields and sagas. */
export class Debts {
  #closing: Closing[] = [];

  /** Something that was closed has not done what it owes. */
  get isOwing(): boolean {
    return this.#closing.length > 0;
  }

  /**
   * Resolves when the microtasks have run dry and nothing is owed by `closed`. Until then that is owed by `around` too:
   * what closes `around` waits for it.
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

  /** Called when the microtasks have run dry: what waits for that goes on. False: there is none. */
  resumePaid(): boolean {
    const isPaid = ({ scopes }: Closing): boolean => scopes.every(({ owed }) => owed === 0);
    const paid = this.#closing.filter(isPaid);
    if (paid.length === 0) return false;
    this.#closing = this.#closing.filter((closing) => !isPaid(closing));
    for (const { resume } of paid) resume();
    return true;
  }
}
