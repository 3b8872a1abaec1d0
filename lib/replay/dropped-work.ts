import type { Command } from './command.js';
import type { Dropped } from './kinds/kind.js';
import { kindOf, outlivesRun } from './kinds/kinds.js';
import type { Position } from './position.js';
import type { RunFacts } from './run-facts.js';
import type { Waits } from './waits/waits.js';

interface Parts {
  readonly facts: RunFacts;
  readonly waits: Waits;
  readonly position: Readonly<Position>;
}

/** Collects work with outside effects that the workflow, or a winning branch, requested last without waiting for it. */
export class DroppedWork {
  readonly #parts: Parts;
  #all: readonly Dropped[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get all(): readonly Dropped[] {
    return this.#all;
  }

  /** Adds what is dropped at the end of the run. Under rules 2, work that outlives the run is started first. */
  atEnd(asked: readonly Command[]): void {
    const dropped = this.#parts.waits.isStructured ? asked.filter((command) => !outlivesRun(command)) : asked;
    this.#add(dropped, 'a run ends without waiting for work that it requested');
  }

  /** Adds what is dropped when a branch wins its race. */
  inRace(asked: readonly Command[]): void {
    this.#add(asked, 'a branch wins its race without waiting for work that it requested');
  }

  #add(asked: readonly Command[], warning: string): void {
    const dropped = asked.flatMap((command) => kindOf(command).toDropped?.(command) ?? []);
    this.#all = [...this.#all, ...dropped];
    const { facts, position } = this.#parts;
    if (!position.isLive) return;
    for (const { kind, name } of dropped) facts.log.warn(warning, { kind, name });
  }
}
