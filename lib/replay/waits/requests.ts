import type { WaitId } from '../../base/ids.js';
import type { Command } from '../command.js';
import type { RequestEvent } from '../kinds/kinds.js';

/** What the workflow has asked for, in order: which of it the log has, and which it has not. Closed waits stay in it. */
export class Requests {
  /** Records are taken from the front: commands from `#next` on are without one. */
  #commands: Command[] = [];
  #next = 0;
  #lastRecorded = 0;
  /** Steps that the log has as long: a settlement ends them, whatever the code now says. */
  readonly #longSteps = new Set<WaitId>();

  /** Number of the last wait whose request the log has. */
  get lastRecorded(): number {
    return this.#lastRecorded;
  }

  add(command: Command): void {
    this.#commands.push(command);
  }

  /** The oldest command without a record. */
  next(): Command | undefined {
    return this.#commands[this.#next];
  }

  /** At most `limit` commands without a record, oldest first. */
  unrecorded(limit = Infinity): readonly Command[] {
    return this.#commands.slice(this.#next, this.#next + limit);
  }

  /** The oldest command has its record: this event. */
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

  /** A step that is a long one in the log ends by its settlement; one without a record will be what it is now. */
  willBeLongStep(command: Command): boolean {
    if (command.kind !== 'runStep') return false;
    return this.#longSteps.has(command.waitId) || (Number(command.waitId) > this.#lastRecorded && command.policy.long);
  }
}
