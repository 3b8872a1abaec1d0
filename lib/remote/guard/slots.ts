import type { Clock, EpochMs } from '../../base/time.js';

/** Time after which the slot of a dead process is free again: a turn or a read has ended by then. */
const leaseMs = 60_000;
/** A slot is used again for a request of the same worker if its lease is not older. */
const reuseMs = 15_000;
/** Time for which nothing is asked after a refusal. */
const refusedMs = 1_000;
/** Time until another try, and its longest for those who are many. */
const retryMs = 5_000;
const retryMaxMs = 300_000;

export interface SharedSlots {
  take(slot: {
    readonly slots: number;
    readonly holder: string;
    readonly atMs: EpochMs;
    readonly untilMs: EpochMs;
  }): Promise<number | undefined>;
  free(number: number, holder: string): Promise<void>;
}

interface Slot {
  readonly number: number;
  readonly holder: string;
  readonly takenAtMs: EpochMs;
}

/**
 * The concurrent requests of one worker to a server whose limit all workers share. A slot that is left while others of
 * this worker are under way is kept for the next request, which costs no write then.
 */
export class Slots {
  readonly #slots: number;
  readonly #shared: SharedSlots;
  readonly #clock: Clock;
  readonly #newHolder: () => string;
  readonly #idle: Slot[] = [];
  #underWay = 0;
  #refusedUntilMs: EpochMs = 0;
  #lineMs: EpochMs = 0;
  /** Usual duration of a request. */
  #usualMs = 1_000;

  constructor(slots: number, shared: SharedSlots, clock: Clock, newHolder: () => string) {
    this.#slots = slots;
    this.#shared = shared;
    this.#clock = clock;
    this.#newHolder = newHolder;
  }

  /** Returns how to leave, or when to try again. `untilMs`: latest end of the request, if it is a long one. */
  async enter(untilMs: EpochMs): Promise<(() => Promise<void>) | EpochMs> {
    const nowMs = this.#clock.nowMs();
    const slot = untilMs <= nowMs ? await this.#kept(nowMs) : undefined;
    if (slot !== undefined) return this.#entered(slot);
    if (this.#refusedUntilMs > nowMs) return this.#retryAtMs(nowMs);
    const holder = this.#newHolder();
    const lease = { slots: this.#slots, holder, atMs: nowMs, untilMs: Math.max(nowMs, untilMs) + leaseMs };
    const number = await this.#shared.take(lease);
    if (number !== undefined) return this.#entered({ number, holder, takenAtMs: untilMs > nowMs ? 0 : nowMs });
    this.#refusedUntilMs = nowMs + refusedMs;
    return this.#retryAtMs(nowMs);
  }

  async #kept(nowMs: EpochMs): Promise<Slot | undefined> {
    for (;;) {
      const slot = this.#idle.pop();
      if (slot === undefined || nowMs - slot.takenAtMs < reuseMs) return slot;
      await this.#shared.free(slot.number, slot.holder);
    }
  }

  #entered(slot: Slot): () => Promise<void> {
    const enteredAtMs = this.#clock.nowMs();
    this.#underWay++;
    return async () => {
      const nowMs = this.#clock.nowMs();
      this.#underWay--;
      this.#refusedUntilMs = 0;
      this.#usualMs += (nowMs - enteredAtMs - this.#usualMs) / 8;
      this.#idle.push(slot);
      // A process may be frozen after its last request: it keeps nothing then.
      const unused = this.#idle.splice(0, Math.max(0, this.#idle.length - this.#underWay));
      await Promise.all(unused.map(({ number, holder }) => this.#shared.free(number, holder)));
    };
  }

  /** Spreads those who wait over the time that the requests before them take. */
  #retryAtMs(nowMs: EpochMs): EpochMs {
    this.#lineMs = Math.max(this.#lineMs + this.#usualMs / this.#slots, nowMs + retryMs);
    return Math.ceil(Math.min(this.#lineMs, nowMs + retryMaxMs));
  }
}
