import type { EpochMs } from '../../../lib/base/time.js';
import type { AdmissionPurpose } from '../../../lib/remote/transport.js';
import type { Item } from '../../../lib/store/table.js';
import type { Process } from '../world.js';
import type { Agent } from './agent.js';
import { isEnded, short, type Book } from './book.js';
import { isTroubledSince, type Known } from './known.js';

const S = 1_000;
const minuteMs = 60 * S;
/** Time for which a permit may be on its way from the table. */
const latestMs = 100;

/** Checks that the limits of the remote server are kept, and that no call starves behind them. */
export class ServerLimitOracles {
  readonly #known: Known;
  readonly #limits: Pick<Agent, 'perMinute' | 'concurrency'>;
  /** Number of admitted calls, by minute. */
  readonly #admitted = new Map<number, number>();
  /** Minutes in which the table did not answer: then calls are let through. */
  readonly #excused = new Set<number>();
  /** Admissions that processes have not used. */
  readonly #unused = new Map<string, number>();
  /** Ends of the calls that the server has not answered. */
  #underWay: EpochMs[] = [];
  readonly #started = new Set<string>();
  /** Keys of the starts that processes make. */
  readonly #asked = new Map<string, readonly string[]>();

  constructor(known: Known, limits: Pick<Agent, 'perMinute' | 'concurrency'>) {
    this.#known = known;
    this.#limits = limits;
  }

  /** Called with each operation of a process, and whether something goes wrong at it. */
  onOperation(process: string, isFault: boolean): void {
    if (!isFault || !process.startsWith('guard')) return;
    const { nowMs } = this.#known.world;
    for (const atMs of [nowMs, nowMs + 15 * S]) this.#excused.add(Math.floor(atMs / minuteMs));
  }

  onApplied({ pk, sk, ...rate }: Item): void {
    const { perMinute } = this.#limits;
    if (pk !== 'server#remote' || sk !== 'rate' || perMinute === undefined) return;
    if (Number(rate['requests'] ?? 0) > perMinute)
      this.#fail('permits-beyond-the-limit', `${String(rate['requests'])} in one minute, of ${perMinute}`);
  }

  onAdmitted({ name }: Process, purpose: AdmissionPurpose): void {
    const { perMinute } = this.#limits;
    const { world, given } = this.#known;
    if (purpose === 'handOver') return;
    this.#unused.set(name, (this.#unused.get(name) ?? 0) + 1);
    if (perMinute === undefined) return;
    const now = Math.floor(world.nowMs / minuteMs);
    const before = this.#admitted.get(now - 1) ?? 0;
    const isLate = world.nowMs % minuteMs < latestMs && before > 0 && before < perMinute;
    const minute = isLate ? now - 1 : now;
    const count = (this.#admitted.get(minute) ?? 0) + 1;
    this.#admitted.set(minute, count);
    // Clocks that differ have other minutes.
    if (count > perMinute && given.skews.length === 0 && !this.#excused.has(minute))
      this.#fail('too-many-calls', `${count} in minute ${minute % 60}, of ${perMinute}`);
  }

  onCalled({ name }: Process, call: 'start' | 'read', takesMs: number): void {
    const { world, given } = this.#known;
    const unused = this.#unused.get(name) ?? 0;
    this.#unused.set(name, Math.max(0, unused - 1));
    if (unused === 0) {
      // A start whose task nobody waits for is repeated, to cancel it, without being admitted.
      const isRepeated = call === 'start' && this.#asked.get(name)?.some((key) => this.#isSettled(key)) === true;
      if (!isRepeated) this.#fail('called-unadmitted', `${call} by ${name}`);
      return;
    }
    const { concurrency } = this.#limits;
    if (concurrency === undefined) return;
    this.#underWay = [...this.#underWay.filter((endMs) => endMs > world.nowMs), world.nowMs + takesMs];
    const count = this.#underWay.length;
    const sinceMs = world.nowMs - takesMs - 2 * minuteMs;
    if (count > concurrency && given.skews.length === 0 && !isTroubledSince(this.#known, sinceMs))
      this.#fail('too-many-at-once', `${count} calls under way, of ${concurrency}`);
  }

  onStart({ name }: Process, key: string): void {
    const { runId, waitId } = this.#known.world.callOf(key);
    this.#asked.set(name, [...(this.#asked.get(name) ?? []), key]);
    this.#started.add(`${runId} ${waitId}`);
  }

  /** Checks that no call waits for its start for longer than the limits ask of it. */
  checkStarved(): void {
    const { world } = this.#known;
    const waiting = [...this.#known.books.values()].flatMap((book) => this.#waitingIn(book));
    for (const { book, waitId, sinceMs } of waiting) {
      const longestMs = this.#longestMs(sinceMs);
      if (world.nowMs - sinceMs < longestMs || isTroubledSince(this.#known, world.nowMs - longestMs)) continue;
      if (book.chain.control.is !== 'running' || book.chain.control.sinceMs > world.nowMs - longestMs) continue;
      this.#fail('call-starved', `wait ${waitId} of run ${short(book.runId)}, ${(world.nowMs - sinceMs) / S} s`);
    }
  }

  #isSettled(key: string): boolean {
    const { runId, waitId } = this.#known.world.callOf(key);
    return this.#known.books.get(runId)?.items.get(`t#${waitId}`)?.['settledAtMs'] !== undefined;
  }

  #waitingIn(book: Book): readonly { readonly book: Book; readonly waitId: string; readonly sinceMs: EpochMs }[] {
    const { runId, state, head, ending } = book;
    if (isEnded(head.status) || head.blocked !== undefined || ending !== undefined) return [];
    if (state.pausedUntilMs !== undefined || book.chain.hasLoss) return [];
    return [...state.open.values()].flatMap((wait) => {
      const { kind, waitId } = wait;
      const isSettled = book.items.get(`t#${waitId}`)?.['settledAtMs'] !== undefined;
      if (kind !== 'remoteTask' || isSettled || this.#started.has(`${runId} ${waitId}`)) return [];
      const asked = book.events.find((event) => event.type === 'RemoteTaskRequested' && event.waitId === waitId);
      return asked === undefined ? [] : [{ book, waitId, sinceMs: asked.atMs }];
    });
  }

  /** Returns how long the calls that there are may take to start. */
  #longestMs(sinceMs: EpochMs): number {
    const { perMinute, concurrency } = this.#limits;
    const { given, books } = this.#known;
    const calls = [...books.values()].reduce(
      (sum, { events }) =>
        sum + events.filter(({ type, atMs }) => type === 'RemoteTaskRequested' && atMs > sinceMs - 600 * S).length,
      0,
    );
    const share = perMinute === undefined ? Infinity : Math.max(1, perMinute - Math.ceil(perMinute / 3));
    const takesMs = Math.max(given.startsTake ?? 0, given.answersAfter) * S;
    const atOnceMs = concurrency === undefined ? 0 : (calls * (takesMs + 10 * S)) / concurrency + minuteMs;
    return 2 * minuteMs + Math.ceil(calls / share) * minuteMs + atOnceMs + takesMs;
  }

  #fail(kind: string, detail: string): void {
    this.#known.world.fail(kind, detail);
  }
}
