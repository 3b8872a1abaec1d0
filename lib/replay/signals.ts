import type { WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
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
  readonly #kept = new Map<string, Signal[]>();
  readonly #waiting = new Map<string, SignalWait[]>();
  #deliveries: Delivery[] = [];

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  receive(name: string, signal: Signal): void {
    const waiting = (this.#waiting.get(name) ?? []).filter(({ waitId }) => this.#waits.isOpen(waitId));
    const taker = waiting.find((wait) => this.#accepts(wait, signal));
    this.#waiting.set(
      name,
      waiting.filter((wait) => wait !== taker),
    );
    // In place: a run may have a hundred thousand of one name.
    if (taker === undefined) this.#keptOf(name).push(signal);
    else this.#deliver(taker.waitId, signal);
  }

  /** Gives a wait that is open now the oldest signal that it accepts, or lets it wait. */
  wait(name: string, wait: SignalWait): void {
    const kept = this.#keptOf(name);
    const at = kept.findIndex((one) => this.#accepts(wait, one));
    const signal = kept[at];
    if (signal === undefined) {
      if (!this.#waits.isOpen(wait.waitId)) return;
      this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), wait]);
      return;
    }
    kept.splice(at, 1);
    this.#deliver(wait.waitId, signal);
  }

  /** Deliveries that no event records yet, of waits up to number `lastWaitId`, oldest first; they count as recorded. */
  takeDeliveries(lastWaitId: number): readonly Delivery[] {
    const taken = this.#deliveries.filter(({ waitId }) => Number(waitId) <= lastWaitId);
    if (taken.length > 0) this.#deliveries = this.#deliveries.filter((delivery) => !taken.includes(delivery));
    return taken;
  }

  /** Takes the recorded delivery out; false when the code delivers otherwise. */
  takeRecorded({ waitId, inboxId }: Delivery): boolean {
    const at = this.#deliveries.findIndex((delivery) => delivery.waitId === waitId && delivery.inboxId === inboxId);
    if (at < 0) return false;
    this.#deliveries.splice(at, 1);
    return true;
  }

  #keptOf(name: string): Signal[] {
    const kept = this.#kept.get(name) ?? [];
    this.#kept.set(name, kept);
    return kept;
  }

  /** A predicate that throws fails its own wait and takes nothing. */
  #accepts({ waitId, accepts }: SignalWait, { payload }: Signal): boolean {
    if (!this.#waits.isOpen(waitId)) return false;
    try {
      return accepts(payload);
    } catch (error) {
      this.#waits.reject(waitId, error instanceof Error ? error : new Error('the predicate threw', { cause: error }));
      return false;
    }
  }

  #deliver(waitId: WaitId, { inboxId, payload }: Signal): void {
    this.#deliveries.push({ waitId, inboxId });
    this.#waits.resolve(waitId, payload);
  }
}
