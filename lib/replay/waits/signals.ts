import type { WaitId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { Waits } from './waits.js';

interface Signal {
  readonly inboxId: string;
  readonly payload: JsonValue | undefined;
}
interface SignalWait {
  readonly waitId: WaitId;
  readonly accepts: (payload: JsonValue | undefined) => boolean;
}
/** A wait and the signal that it was given. */
export interface Delivery {
  readonly waitId: WaitId;
  readonly inboxId: string;
}

/**
 * Signals of one execution: each is given to the oldest open wait of its name that accepts it, or kept until one asks.
 * A function of the events, so the same on every replay.
 */
export class Signals {
  readonly #waits: Waits;
  /** Sets and maps: what is taken out of a long line must not cost as much as the line is long. */
  readonly #kept = new Map<string, Set<Signal>>();
  /** Open waits of each name, oldest first. */
  readonly #waiting = new Map<string, Map<WaitId, SignalWait>>();
  #deliveries: Delivery[] = [];

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  receive(name: string, signal: Signal): void {
    for (const wait of this.#waiting.get(name)?.values() ?? []) {
      if (!this.#accepts(wait, signal)) continue;
      this.#deliver(wait.waitId, signal);
      return;
    }
    entry(this.#kept, name, () => new Set()).add(signal);
  }

  /** Gives a wait the oldest signal that it accepts, or lets it wait; one that was refused or is closed gets none. */
  wait(name: string, wait: SignalWait): void {
    const kept = this.#kept.get(name);
    for (const signal of kept ?? []) {
      if (!this.#accepts(wait, signal)) continue;
      kept?.delete(signal);
      this.#deliver(wait.waitId, signal);
      return;
    }
    if (this.#waits.isOpen(wait.waitId)) entry(this.#waiting, name, () => new Map()).set(wait.waitId, wait);
  }

  /** The wait is open no longer, whatever has ended it. */
  forget(name: string, waitId: WaitId): void {
    this.#waiting.get(name)?.delete(waitId);
  }

  /** Deliveries that no event records yet, of waits up to number `lastWaitId`, oldest first; they count as recorded. */
  takeDeliveries(lastWaitId: number): readonly Delivery[] {
    const isTaken = ({ waitId }: Delivery): boolean => Number(waitId) <= lastWaitId;
    const taken = this.#deliveries.filter(isTaken);
    if (taken.length > 0) this.#deliveries = this.#deliveries.filter((delivery) => !isTaken(delivery));
    return taken;
  }

  /** Takes the recorded delivery out; false when the code delivers otherwise. */
  takeRecorded({ waitId, inboxId }: Delivery): boolean {
    const at = this.#deliveries.findIndex((delivery) => delivery.waitId === waitId && delivery.inboxId === inboxId);
    if (at < 0) return false;
    this.#deliveries.splice(at, 1);
    return true;
  }

  /** A predicate that throws fails its own wait and takes nothing. */
  #accepts({ waitId, accepts }: SignalWait, { payload }: Signal): boolean {
    if (!this.#waits.isOpen(waitId)) return false;
    try {
      return accepts(payload);
    } catch (error) {
      this.#waits.drop(waitId, error instanceof Error ? error : new Error('the predicate threw', { cause: error }));
      return false;
    }
  }

  #deliver(waitId: WaitId, { inboxId, payload }: Signal): void {
    this.#deliveries.push({ waitId, inboxId });
    this.#waits.give(waitId, { value: payload });
  }
}

function entry<Value>(map: Map<string, Value>, name: string, make: () => Value): Value {
  const known = map.get(name);
  if (known !== undefined) return known;
  const made = make();
  map.set(name, made);
  return made;
}
