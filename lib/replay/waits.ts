import type { WaitId } from '../base/ids.js';
import type { Command } from './command.js';

interface Wait {
  readonly command: Command;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The open promises of one execution, in the order in which the workflow asked for them. Ids are positions in that
 * order, so they are the same on every replay.
 */
export class Waits {
  #lastId = 0;
  readonly #open = new Map<WaitId, Wait>();
  /** Commands asked for and not yet recorded: those from `#nextUnrecorded` on. Also of waits that a cancel has closed. */
  #asked: Command[] = [];
  #nextUnrecorded = 0;

  get openCount(): number {
    return this.#open.size;
  }

  isOpen(waitId: WaitId): boolean {
    return this.#open.has(waitId);
  }

  /** The command of an open wait. */
  command(waitId: WaitId): Command | undefined {
    return this.#open.get(waitId)?.command;
  }

  ask<Value>(toCommand: (waitId: WaitId) => Command): Promise<Value> {
    const command = toCommand(String(++this.#lastId));
    this.#asked.push(command);
    return new Promise<Value>((resolve, reject) => {
      this.#open.set(command.waitId, { command, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** At most `limit` of the commands that no commit has recorded yet, oldest first. */
  unrecorded(limit: number): readonly Command[] {
    return this.#asked.slice(this.#nextUnrecorded, this.#nextUnrecorded + limit);
  }

  /** The oldest command without a record, if it is the one of `waitId`; it counts as recorded from now on. */
  takeUnrecorded(waitId: WaitId): Command | undefined {
    const next = this.#asked[this.#nextUnrecorded];
    if (next?.waitId !== waitId) return undefined;
    this.#nextUnrecorded++;
    if (this.#nextUnrecorded === this.#asked.length) {
      this.#asked = [];
      this.#nextUnrecorded = 0;
    }
    return next;
  }

  /** The oldest command without a record. */
  nextUnrecorded(): Command | undefined {
    return this.#asked[this.#nextUnrecorded];
  }

  resolve(waitId: WaitId, value: unknown): void {
    this.#close(waitId)?.resolve(value);
  }

  reject(waitId: WaitId, error: Error): void {
    this.#close(waitId)?.reject(error);
  }

  /** Rejects every open wait, in the order in which they were asked for. */
  rejectAll(error: Error): void {
    for (const waitId of [...this.#open.keys()]) this.reject(waitId, error);
  }

  #close(waitId: WaitId): Wait | undefined {
    const wait = this.#open.get(waitId);
    this.#open.delete(waitId);
    return wait;
  }
}
