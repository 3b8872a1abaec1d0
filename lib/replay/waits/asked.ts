import type { Command } from '../command.js';

/** Commands that the workflow has asked for and no event records, oldest first; also of waits that were closed since. */
export class Asked {
  /** Records are taken from the front: commands from `#next` on are without one. */
  #commands: Command[] = [];
  #next = 0;

  add(command: Command): void {
    this.#commands.push(command);
  }

  /** The oldest command without a record. */
  next(): Command | undefined {
    return this.#commands[this.#next];
  }

  /** At most `limit` commands without a record. */
  list(limit = Infinity): readonly Command[] {
    return this.#commands.slice(this.#next, this.#next + limit);
  }

  /** The oldest command has its record from now on. */
  takeNext(): void {
    this.#next++;
    if (this.#next < this.#commands.length) return;
    this.#commands = [];
    this.#next = 0;
  }
}
