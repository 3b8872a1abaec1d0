import type { WaitId } from '../base/ids.js';
import type { Command } from './command.js';
import type { RequestEvent } from './kinds/kinds.js';

/** What the log has of the waits that the workflow asked for. */
export class Recorded {
  #lastWait = 0;
  /** Steps that the log has as long: a settlement ends them, whatever the code now says. */
  readonly #longSteps = new Set<WaitId>();

  /** Number of the last wait whose request the log has. */
  get lastWait(): number {
    return this.#lastWait;
  }

  add(event: RequestEvent): void {
    this.#lastWait = Number(event.waitId);
    if (event.type === 'StepRequested' && event.long === true) this.#longSteps.add(event.waitId);
  }

  isLongStep(waitId: WaitId): boolean {
    return this.#longSteps.has(waitId);
  }

  /** A step that is a long one in the log ends by its settlement; one without a record will be what it is now. */
  willBeLongStep(command: Command): boolean {
    if (command.kind !== 'runStep') return false;
    return this.#longSteps.has(command.waitId) || (Number(command.waitId) > this.#lastWait && command.policy.long);
  }
}
