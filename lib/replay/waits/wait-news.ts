import type { WaitId } from '../../base/ids.js';
import type { AskedQuestion } from '../../history/remote-question.js';
import type { Waits } from './waits.js';

/** What an open wait hears before it ends: that its token is there, and what its remote task asks. */
export class WaitNews {
  readonly #waits: Waits;
  readonly #issuing = new Map<WaitId, (token: string) => void>();
  readonly #askers = new Map<WaitId, (asked: AskedQuestion) => void>();

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /** The text of a token, once its item is there. */
  tokenIssued(waitId: WaitId): Promise<string> {
    return new Promise((resolve) => {
      // A wait that was refused has no token, and one that is closed gets none.
      if (this.#waits.isOpen(waitId)) this.#issuing.set(waitId, resolve);
    });
  }

  /** Who is waiting for the token, once. */
  takeIssuing(waitId: WaitId): ((token: string) => void) | undefined {
    const issued = this.#issuing.get(waitId);
    this.#issuing.delete(waitId);
    return issued;
  }

  /** What is done with the questions of a call; undefined: nothing any more. */
  onQuestion(waitId: WaitId, ask: ((asked: AskedQuestion) => void) | undefined): void {
    if (ask === undefined) this.#askers.delete(waitId);
    else this.#askers.set(waitId, ask);
  }

  asker(waitId: WaitId): ((asked: AskedQuestion) => void) | undefined {
    return this.#askers.get(waitId);
  }

  /** The wait is open no longer. Its asker goes with the call that has set it. */
  forget(waitId: WaitId): void {
    this.#issuing.delete(waitId);
  }
}
