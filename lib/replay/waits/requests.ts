import type { WaitId } from '../../base/ids.js';
import type { Command } from '../command.js';
import type { RequestEvent } from '../kinds/kinds.js';

/** Commands of the workflow in order, and which of them the log has. Includes those of closed waits. */
export class Requests {
  /** Commands from `#next` on are not recorded; recorded ones are removed from time to time. */
  #commands: Command[] = [];
  #next = 0;
  #lastRecorded = 0;
  /** Steps that are long in the log: a settlement ends them, whatever the code says now. */
  readonly #longSteps = new Set<WaitId>();

  /** Number of the last wait whose request is in the log. */
  get lastRecorded(): number {
    return this.#lastRecorded;
  }

  add(command: Command): void {
    this.#commands.push(command);
  }

  /** Returns the oldest unrecorded command. */
  next(): Command | undefined {
    return this.#commands[this.#next];
  }

  /** Returns at most `limit` unrecorded commands, oldest first. */
  unrecorded(limit = Infinity): readonly Command[] {
    return this.#commands.slice(this.#next, this.#next + limit);
  }

  /** Marks the oldest unrecorded command as recorded by this event. */
  record(event: RequestEvent): void {
    this.#lastRecorded = Number(event.waitId);
    if (event.type === 'StepRequested' && event.long === true) this.#longSteps.add(event.waitId);
    this.#next++;
    if (this.#next < this.#commands.length) return;
    this.#commands = [];
    this.#next = 0;
  }

  isLongStep(waitId: WaitId): boolean {
    return this.#longSteps.has(waitId);
  }

  /** Returns true if the step is long in the log or, if it is not recorded, in the code. */
  willBeLongStep(command: Command): boolean {
    if (command.kind !== 'runStep') return false;
    return this.#longSteps.has(command.waitId) || (Number(command.waitId) > this.#lastRecorded && command.policy.long);
  }
}
