import { defined } from '../../base/defined.js';
import type { WaitId } from '../../base/ids.js';
import type { AskedQuestion } from '../../history/remote-question.js';
import type { RemoteQuestionAsked, RemoteTaskProgressed } from '../../history/remote-task-event.js';
import type { TaskProgress } from '../../history/task-trail.js';
import type { Waits } from './waits.js';

/** Notifies open waits of what happens before they end: their token is issued, or their remote task asks or changes. */
export class WaitNews {
  readonly #waits: Waits;
  readonly #issuing = new Map<WaitId, (token: string) => void>();
  readonly #askers = new Map<WaitId, (asked: AskedQuestion) => void>();

  readonly #hearers = new Map<WaitId, (shown: TaskProgress) => void>();

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /** Resolves to the text of a token, once its item is stored. */
  tokenIssued(waitId: WaitId): Promise<string> {
    return new Promise((resolve) => {
      // Only open waits get a token.
      if (this.#waits.isOpen(waitId)) this.#issuing.set(waitId, resolve);
    });
  }

  /** Removes and returns the callback for the token of a wait, if any. */
  takeIssuing(waitId: WaitId): ((token: string) => void) | undefined {
    const issued = this.#issuing.get(waitId);
    this.#issuing.delete(waitId);
    return issued;
  }

  /** Sets the callback for questions to a call; undefined removes it. */
  onQuestion(waitId: WaitId, ask: ((asked: AskedQuestion) => void) | undefined): void {
    if (ask === undefined) this.#askers.delete(waitId);
    else this.#askers.set(waitId, ask);
  }

  /** Sets the callback for changes of a call's task; undefined removes it. */
  onProgress(waitId: WaitId, hear: ((shown: TaskProgress) => void) | undefined): void {
    if (hear === undefined) this.#hearers.delete(waitId);
    else this.#hearers.set(waitId, hear);
  }

  hearer(waitId: WaitId): ((shown: TaskProgress) => void) | undefined {
    return this.#hearers.get(waitId);
  }

  /** Returns what tells the callback of a call about an event; undefined if the call has no such callback. */
  tellerOf(event: RemoteQuestionAsked | RemoteTaskProgressed): (() => void) | undefined {
    if (event.type === 'RemoteTaskProgressed') {
      const hear = this.#hearers.get(event.waitId);
      return hear === undefined
        ? undefined
        : () => {
            hear(event.shown);
          };
    }
    const { waitId, question, round } = event;
    const ask = this.#askers.get(waitId);
    return ask === undefined
      ? undefined
      : () => {
          ask({ question, ...defined({ round }) });
        };
  }

  /** Forgets a wait that is no longer open. The call that set other callbacks removes them itself. */
  forget(waitId: WaitId): void {
    this.#issuing.delete(waitId);
  }
}
