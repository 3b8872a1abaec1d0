import type { WaitId } from '../../base/ids.js';
import type { Command } from '../command.js';

/** Waits without tokens that the code closed before their end, and whose closing no event records yet. */
export class ClosedWaits {
  readonly #closed = new Map<WaitId, Command>();

  add(command: Command): void {
    this.#closed.set(command.waitId, command);
  }

  /** Removes and returns the waits up to number `lastWaitId`, which count as recorded. */
  take(lastWaitId: number): readonly Command[] {
    if (this.#closed.size === 0) return [];
    const taken = [...this.#closed.values()].filter(({ waitId }) => Number(waitId) <= lastWaitId);
    for (const { waitId } of taken) this.#closed.delete(waitId);
    return taken;
  }

  /** Removes a wait whose closing is recorded. Returns false if the code has not closed it. */
  takeRecorded(waitId: WaitId): boolean {
    return this.#closed.delete(waitId);
  }
}
