import type { Clock, EpochMs } from '../../base/time.js';
import type { LinePart, PermitLease, RateAnswer, RequestKind, ServerRate } from '../../history/server-rate.js';
import { allowance, minuteEndMs, minuteOf, permitsLeft, placeSpaceMs } from './permits.js';

/** Writes that are tried again with what the one before has returned: another worker was faster. */
const triesMax = 4;
/** Largest part of the permits of a minute in one lease. */
const leasePart = 2;
const placesMax = 32;

/** The rate of one server, as all workers share it. */
export interface SharedRate {
  lease(lease: PermitLease & { readonly perMinute: number; readonly kindMax: number }): Promise<RateAnswer>;
  openMinute(lease: PermitLease & { readonly readsBefore: number | undefined }): Promise<RateAnswer>;
  /** Reserves places at the end of a line that reaches `fromMs`. */
  reserve(part: LinePart): Promise<RateAnswer>;
  /** Begins a line, unless it reaches `fromMs`. */
  beginLine(part: LinePart): Promise<RateAnswer>;
  read(): Promise<ServerRate>;
}

/** What this worker has in hand for one kind of request. */
interface Hand {
  permits: number;
  /** When its permits lapse: the minute of their lease is over. */
  permitsUntilMs: EpochMs;
  /** Until when no permit is left: nothing is asked meanwhile. */
  refusedUntilMs: EpochMs;
  /** Requests of this minute and of the one before: the measure of a lease. */
  used: number;
  usedBefore: number;
  /** Places in the line that nobody has been given yet. */
  readonly places: EpochMs[];
  /** Places given away within a minute: the measure of the next ones. */
  given: number;
  givenBefore: number;
  givenSinceMs: EpochMs;
}

/**
 * The permits of one server in one worker. Permits are leased in blocks of the current minute and lapse with it; while
 * there are none, callers get places in a line, which are reserved in blocks as well, and no write asks again.
 *
 * L1  The permits leased in one minute are never more than `perMinute`, whoever leases them.
 * L2  A permit is used within the minute of its lease, by the clock of the worker that has leased it.
 * L3  Reads that wait get a third of the permits of a minute; starts that wait get the rest.
 */
export class RateLimiter {
  readonly #perMinute: number;
  readonly #shared: SharedRate;
  readonly #clock: Clock;
  #rate: ServerRate | undefined;
  readonly #hands: Readonly<Record<RequestKind, Hand>> = { starts: emptyHand(), reads: emptyHand() };
  /** Only one write is under way at a time: the callers behind it find what it brings. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(perMinute: number, shared: SharedRate, clock: Clock) {
    this.#perMinute = perMinute;
    this.#shared = shared;
    this.#clock = clock;
  }

  /**
   * Takes a permit. Returns undefined if the request may be made now, otherwise when to try again. `hasWaited`: the call
   * comes at its place in the line; starts do not overtake it. `isExtra`: the call will not come again, so it needs no
   * place.
   */
  async take(
    kind: RequestKind,
    { hasWaited, isExtra }: { readonly hasWaited: boolean; readonly isExtra: boolean },
  ): Promise<EpochMs | undefined> {
    return this.#inTurn(async () => {
      const isBehind = kind === 'starts' && !hasWaited && (await this.#isLine(kind));
      if (!isBehind && (this.#hasPermit(kind) || (await this.#lease(kind)))) return undefined;
      return isExtra ? minuteEndMs(this.#clock.nowMs()) : this.#place(kind);
    });
  }

  async #isLine(kind: RequestKind): Promise<boolean> {
    this.#rate ??= await this.#shared.read();
    return this.#rate[`${kind}UntilMs`] > this.#clock.nowMs();
  }

  /** Returns a permit that was not used. */
  giveBack(kind: RequestKind): void {
    const hand = this.#hands[kind];
    hand.used--;
    if (hand.permitsUntilMs > this.#clock.nowMs()) hand.permits++;
  }

  /** Returns when a read that is wanted at `atMs` will be admitted, and keeps its place, if reads have to wait. */
  async whenRead(atMs: EpochMs): Promise<EpochMs> {
    return this.#inTurn(async () => {
      const untilMs = this.#rate?.readsUntilMs ?? 0;
      return untilMs > Math.max(atMs, this.#clock.nowMs()) ? this.#place('reads', atMs) : atMs;
    });
  }

  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  #hasPermit(kind: RequestKind): boolean {
    const nowMs = this.#clock.nowMs();
    const hand = this.#hands[kind];
    if (hand.permitsUntilMs <= nowMs) {
      if (hand.permitsUntilMs > 0) hand.usedBefore = hand.permitsUntilMs > nowMs - 60_000 ? hand.used : 0;
      hand.used = 0;
      hand.permits = 0;
      hand.permitsUntilMs = minuteEndMs(nowMs);
    }
    if (hand.permits === 0) return false;
    hand.permits--;
    hand.used++;
    return true;
  }

  async #lease(kind: RequestKind): Promise<boolean> {
    const hand = this.#hands[kind];
    for (let tries = 0; tries < triesMax; tries++) {
      const nowMs = this.#clock.nowMs();
      if (hand.refusedUntilMs > nowMs) return false;
      const rate = this.#rate ?? (await this.#shared.read());
      const asked = { kind, perMinute: this.#perMinute, nowMs };
      const left = permitsLeft(rate, asked);
      if (left === 0) break;
      const minute = minuteOf(rate, nowMs);
      const count = Math.min(left, this.#leaseSize(hand));
      const { ok, rate: now } =
        rate.minute === minute
          ? await this.#shared.lease({
              ...{ kind, minute, count, perMinute: this.#perMinute },
              kindMax: allowance(rate, asked),
            })
          : await this.#shared.openMinute({
              ...{ kind, minute, count },
              readsBefore: rate.minute === minute - 1 ? rate.reads : undefined,
            });
      this.#rate = now;
      if (!ok) continue;
      hand.permits = count - 1;
      hand.used++;
      return true;
    }
    hand.refusedUntilMs = minuteEndMs(this.#clock.nowMs());
    return false;
  }

  /** Returns how many permits this worker is likely to use, at most half of all. */
  #leaseSize({ used, usedBefore }: Hand): number {
    const likely = Math.ceil(Math.max(used / 2, usedBefore / 1.5));
    return Math.max(1, Math.min(likely, Math.ceil(this.#perMinute / leasePart)));
  }

  /** Takes the next place in the line that is not before `fromMs`. */
  async #place(kind: RequestKind, fromMs: EpochMs = 0): Promise<EpochMs> {
    const hand = this.#hands[kind];
    const nowMs = this.#clock.nowMs();
    while ((hand.places[0] ?? Infinity) <= nowMs) hand.places.shift();
    if (hand.givenSinceMs <= nowMs - 60_000) {
      hand.givenBefore = hand.givenSinceMs > nowMs - 120_000 ? hand.given : 0;
      hand.given = 0;
      hand.givenSinceMs = nowMs;
    }
    if (hand.places.every((atMs) => atMs < fromMs)) await this.#reserve(kind, hand);
    const [place] = hand.places.splice(
      hand.places.findIndex((atMs) => atMs >= fromMs),
      1,
    );
    hand.given++;
    return place ?? minuteEndMs(nowMs);
  }

  /** Reserves as many places as this worker is likely to give away. */
  async #reserve(kind: RequestKind, hand: Hand): Promise<void> {
    for (let tries = 0; tries < triesMax; tries++) {
      const nowMs = this.#clock.nowMs();
      const rate = (this.#rate ??= await this.#shared.read());
      const knownMs = rate[`${kind}UntilMs`];
      const fromMs = Math.max(hand.refusedUntilMs, nowMs);
      const spaceMs = placeSpaceMs(rate, { kind, perMinute: this.#perMinute, nowMs }, Math.max(knownMs, fromMs));
      const count = Math.max(1, Math.min(Math.max(hand.given, hand.givenBefore), placesMax));
      const part = { kind, fromMs, lengthMs: count * spaceMs };
      const { ok, rate: now } = await (knownMs < fromMs ? this.#shared.beginLine(part) : this.#shared.reserve(part));
      this.#rate = now;
      if (!ok) continue;
      const endMs = now[`${kind}UntilMs`];
      for (let place = count; place > 0; place--) hand.places.push(endMs - place * spaceMs);
      return;
    }
  }
}

function emptyHand(): Hand {
  return {
    permits: 0,
    permitsUntilMs: 0,
    refusedUntilMs: 0,
    used: 0,
    usedBefore: 0,
    places: [],
    given: 0,
    givenBefore: 0,
    givenSinceMs: 0,
  };
}
