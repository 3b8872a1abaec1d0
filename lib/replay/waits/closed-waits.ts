import type { WaitId } from '../../base/ids.js';
import type { Command } from '../command.js';

/** Waits without a token that the code has closed before they ended, and that no event names as closed. */
export class ClosedWaits {
  readonly #closed = new Map<WaitId, Command>();

  add(command: Command): void {
    this.#closed.set(command.waitId, command);
  }

  /** Takes out those up to number `lastWaitId`; they count as recorded. */
  take(lastWaitId: number): readonly Command[] {
    if (this.#closed.size === 0) return [];
    const taken = [...this.#closed.values()].filter(({ waitId }) => Number(waitId) <= lastWaitId);
    for (const { waitId } of taken) this.#closed.delete(waitId);
    return taken;
  }

  /** Takes the recorded closing of a wait out; false when the code has not closed it. */
  takeRecorded(waitId: WaitId): boolean {
    return this.#closed.delete(waitId);
  }
}
