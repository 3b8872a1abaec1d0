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
/** A wait and the signal that it received. */
export interface Delivery {
  readonly waitId: WaitId;
  readonly inboxId: string;
}

/**
 * Delivers the signals of one execution: each goes to the oldest open wait with its name that accepts it, or is kept
 * for a later wait. Depends only on the events, so it is the same on every replay.
 */
export class Signals {
  readonly #waits: Waits;
  /** Sets and maps, so that removing from a long queue is cheap. */
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

  /** Gives a wait the oldest signal that it accepts, or lets it wait. A wait that is not open gets none. */
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

  /** Forgets a wait that is no longer open. */
  forget(name: string, waitId: WaitId): void {
    this.#waiting.get(name)?.delete(waitId);
  }

  /** Removes and returns unrecorded deliveries to waits up to number `lastWaitId`, which then count as recorded. */
  takeDeliveries(lastWaitId: number): readonly Delivery[] {
    const isTaken = ({ waitId }: Delivery): boolean => Number(waitId) <= lastWaitId;
    const taken = this.#deliveries.filter(isTaken);
    if (taken.length > 0) this.#deliveries = this.#deliveries.filter((delivery) => !isTaken(delivery));
    return taken;
  }

  /** Removes a delivery that is recorded. Returns false if the code delivers the signal to another wait. */
  takeRecorded({ waitId, inboxId }: Delivery): boolean {
    const at = this.#deliveries.findIndex((delivery) => delivery.waitId === waitId && delivery.inboxId === inboxId);
    if (at < 0) return false;
    this.#deliveries.splice(at, 1);
    return true;
  }

  /** Returns true if the wait takes the signal. A predicate that throws fails its wait, which takes nothing. */
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
