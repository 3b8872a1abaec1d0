import type { Random } from '../../base/ids.js';
import type { Clock, EpochMs } from '../../base/time.js';
import type { LinePart, RateAnswer, RequestKind, ServerRate } from '../../history/server-rate.js';
import type { EffectiveLimits } from '../../workflow/server-limits.js';
import { RateLimiter, type SharedRate } from './rate-limiter.js';
import { Slots, type SharedSlots } from './slots.js';

/** The limits of all servers as workers share them; each method may throw if the store is unavailable. */
export interface SharedServerLimits {
  readRate(server: string): Promise<ServerRate>;
  lease(server: string, lease: Parameters<SharedRate['lease']>[0]): Promise<RateAnswer>;
  openMinute(server: string, lease: Parameters<SharedRate['openMinute']>[0]): Promise<RateAnswer>;
  reserve(server: string, part: LinePart): Promise<RateAnswer>;
  beginLine(server: string, part: LinePart): Promise<RateAnswer>;
  takeSlot(server: string, slot: Parameters<SharedSlots['take']>[0]): Promise<number | undefined>;
  freeSlot(server: string, number: number, holder: string): Promise<void>;
}

/** Runs work on the shared state; if the store is unavailable, returns what is given instead. */
export type Shared = <Value>(what: string, work: () => Promise<Value>, otherwise: Value) => Promise<Value>;

export interface LimitedCall {
  readonly kind: RequestKind;
  /** Latest end of a long start; otherwise 0. */
  readonly untilMs: EpochMs;
  /** Whether the call comes at the instant that it was given when it was held back. */
  readonly hasWaited: boolean;
  /** Whether nobody waits for it: it will not come again. */
  readonly isExtra: boolean;
}

/** A call that may not be made now: why, and when to try again. */
export interface Refused {
  readonly retryAtMs: EpochMs;
  readonly why: string;
}

/** The configured limits of one server in one worker: a rate, a number of requests at a time, or both. */
export class ServerLimiter {
  readonly #limits: EffectiveLimits;
  readonly #rate: RateLimiter | undefined;
  readonly #slots: Slots | undefined;
  readonly #shared: Shared;

  constructor(
    { server, limits }: { readonly server: string; readonly limits: EffectiveLimits },
    states: SharedServerLimits,
    deps: { readonly clock: Clock; readonly random: Random; readonly shared: Shared },
  ) {
    const { clock, random, shared } = deps;
    const { perMinute, concurrency } = limits;
    this.#limits = limits;
    this.#shared = shared;
    const rate: SharedRate = {
      lease: (lease) => states.lease(server, lease),
      openMinute: (lease) => states.openMinute(server, lease),
      reserve: (part) => states.reserve(server, part),
      beginLine: (part) => states.beginLine(server, part),
      read: () => states.readRate(server),
    };
    const slots: SharedSlots = {
      // A slot that could not be leased has no number, and nothing to free.
      take: (slot) => shared('slot', () => states.takeSlot(server, slot), -1),
      free: async (number, holder) => {
        if (number >= 0) await shared('slot', () => states.freeSlot(server, number, holder), undefined);
      },
    };
    if (perMinute !== undefined) this.#rate = new RateLimiter(perMinute, rate, clock);
    if (concurrency !== undefined) this.#slots = new Slots(concurrency, slots, clock, () => random.hex(16));
  }

  /** Returns how to leave, or why the call may not be made now. */
  async enter({ kind, untilMs, ...terms }: LimitedCall): Promise<(() => Promise<void>) | Refused> {
    const { perMinute, concurrency } = this.#limits;
    const rate = this.#rate;
    const heldUntilMs = rate && (await this.#shared('rate', () => rate.take(kind, terms), undefined));
    if (heldUntilMs !== undefined)
      return { retryAtMs: heldUntilMs, why: `its limit of ${perMinute ?? 0} requests a minute is reached` };
    const leave = await this.#slots?.enter(untilMs);
    if (typeof leave !== 'number') return leave ?? nothing;
    rate?.giveBack(kind);
    return { retryAtMs: leave, why: `${concurrency ?? 0} requests are in progress` };
  }

  /** Returns when a read that is wanted at `atMs` will be admitted. */
  async whenRead(atMs: EpochMs): Promise<EpochMs> {
    const rate = this.#rate;
    return rate === undefined ? atMs : this.#shared('rate', () => rate.whenRead(atMs), atMs);
  }
}

async function nothing(): Promise<void> {
  // Leaves nothing behind.
}
