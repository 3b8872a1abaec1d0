import type { EpochMs } from '../../../lib/base/time.js';
import { toToken } from '../../../lib/store/items/token.js';
import type { Item } from '../../../lib/store/table.js';
import type { World } from '../world.js';
import { isEnded, short, type Book } from './book.js';
import { isTroubledSince, settleMs, type Known } from './known.js';
import type { StartOracles } from './start-oracles.js';

/** Checks from time to time that all that waits has a marker, and that nothing due is late. */
export class WaitingOracles {
  readonly #known: Known;
  readonly #world: World;
  readonly #starts: StartOracles;

  constructor(known: Known, starts: StartOracles) {
    this.#known = known;
    this.#world = known.world;
    this.#starts = starts;
  }

  checkInstant(suspect: (book: Book, waitIds: readonly string[]) => void): void {
    for (const book of this.#known.books.values()) {
      if (isEnded(book.head.status)) continue;
      this.#checkMarkers(book, suspect);
      this.#checkLate(book);
      this.#checkResumed(book);
    }
  }

  /** Checks that everything due, now or later, has a marker. */
  #checkMarkers(book: Book, suspect: (book: Book, waitIds: readonly string[]) => void): void {
    const { nowMs } = this.#world;
    const { head, state, runId } = book;
    // A marker of a push config has its news sent; it brings no turn of the run.
    const marked = [...book.items.values()].filter(({ sk, dueAtMs }) => !sk.startsWith('p#') && dueAtMs !== undefined);
    if (marked.length === 0) this.#fail('no-marker', `run ${short(runId)} will never be looked at`);
    // An open token has its task read or its step run; it needs no turn of the run.
    const isForTurn = ({ sk, settledAtMs }: Item): boolean => !sk.startsWith('t#') || settledAtMs !== undefined;
    const markers = marked.filter(isForTurn).map(({ dueAtMs }) => Number(dueAtMs));
    if (book.ending !== undefined || head.blocked !== undefined || state.seq === 0 || this.#isPaused(book)) return;
    if (markers.some((dueAtMs) => dueAtMs <= nowMs + this.#known.skewMs)) return;
    const news = this.#newsOf(book);
    if (news.length > 0) this.#fail('wake-lost', `no marker of run ${short(runId)} stands for ${news.join(', ')}`);
    // Markers are removed last, so at every instant one is no later than what will be due.
    const firstMs = Math.min(Infinity, ...markers);
    const late = [...state.open.values()].filter((wait) => {
      const dueAtMs = wait.kind === 'timer' ? wait.firesAtMs : wait.kind === 'signal' ? wait.deadlineAtMs : undefined;
      return dueAtMs !== undefined && dueAtMs < firstMs;
    });
    // A replay shows whether the code still waits for them.
    if (late.length > 0)
      suspect(
        book,
        late.map(({ waitId }) => waitId),
      );
  }

  timerLost({ runId }: Book, waitId: string): void {
    this.#fail('wake-lost', `no marker of run ${short(runId)} stands for wait ${waitId}`);
  }

  #isPaused({ state, chain }: Book): boolean {
    return chain.control.is !== 'running' || state.pausedUntilMs !== undefined;
  }

  #newsOf({ items, state }: Book): readonly string[] {
    const news: string[] = [];
    for (const [sk, item] of items) {
      if (sk.startsWith('i#')) {
        if (!state.takenInbox.has(sk.slice(2))) news.push(sk);
      } else if (sk.startsWith('t#') && item['settledAtMs'] !== undefined) {
        const waitId = sk.slice(2);
        const kind = toToken(item).settlement?.outcome.kind;
        if (state.openTokens.has(waitId) && kind !== 'run_ended' && kind !== 'abandoned') news.push(sk);
      }
    }
    return news;
  }

  /** Checks that nothing due waits for more than two sweeps if nothing has gone wrong for that long. */
  #checkLate(book: Book): void {
    const { nowMs } = this.#world;
    const { head, state, runId, chain, items } = book;
    const sinceMs = nowMs - settleMs;
    if (isTroubledSince(this.#known, sinceMs) || head.blocked !== undefined) return;
    this.#starts.checkLate(book, sinceMs - this.#known.skewMs, this.#isPaused(book));
    if (head.deadlineAtMs !== undefined && head.deadlineAtMs < sinceMs - this.#known.skewMs)
      this.#fail('run-timeout-late', `run ${short(runId)}`);
    if (
      chain.terminatedAtMs !== undefined &&
      chain.terminatedAtMs < sinceMs - this.#known.skewMs &&
      chain.runIds.at(-1) === runId
    )
      this.#fail('terminate-late', `run ${short(runId)}`);
    for (const item of items.values()) {
      const { deadlineAtMs, settledAtMs, sk } = item;
      if (sk.startsWith('t#') && settledAtMs === undefined && item['notices'] !== undefined)
        this.#checkNotices(item, sinceMs);
      if (!sk.startsWith('t#') || settledAtMs !== undefined || deadlineAtMs === undefined) continue;
      // A call without a known task is not looked at while its run is paused; it ends with the resume.
      const isRemote = item['server'] !== undefined && item['handle'] !== undefined;
      if ((isRemote || !this.#isPaused(book)) && Number(deadlineAtMs) < sinceMs - this.#known.skewMs)
        this.#fail('late-deadline', `${sk} of run ${short(runId)}`);
    }
    if (state.seq === 0 || this.#isPaused(book)) return;
    for (const [sk, item] of items) {
      if (!sk.startsWith('i#') || state.takenInbox.has(sk.slice(2))) continue;
      if (Number(item['atMs']) < sinceMs - this.#known.skewMs && chain.control.sinceMs < sinceMs)
        this.#fail('request-late', `${sk.slice(0, 30)} of run ${short(runId)}`);
    }
  }

  /** Checks that no notice of an open question has been due for long. */
  #checkNotices(item: Item, sinceMs: EpochMs): void {
    const { runId, waitId, notices } = toToken(item);
    for (const { to, dueAtMs } of notices?.lines ?? [])
      if ((dueAtMs ?? Infinity) < sinceMs - this.#known.skewMs) this.#fail('notice-late', `${to}: ${runId} ${waitId}`);
  }

  /** Checks that a resume that was accepted after the pause has ended it. */
  #checkResumed({ state, chain, head, runId }: Book): void {
    const { nowMs } = this.#world;
    const sinceMs = nowMs - settleMs - this.#known.skewMs;
    const { control } = chain;
    if (control.is !== 'running' || control.sinceMs === 0 || control.sinceMs > sinceMs) return;
    if (isTroubledSince(this.#known, sinceMs) || head.blocked !== undefined || state.pausedUntilMs === undefined)
      return;
    if (state.pausedUntilMs > nowMs + this.#known.skewMs)
      this.#fail('resume-ignored', `run ${short(runId)} is still paused`);
  }

  /** Checks that the code waits for everything that the fold has open. */
  checkOpen(book: Book, isOpen: (waitId: string) => boolean): void {
    for (const wait of book.state.open.values()) {
      if (wait.kind !== 'timer' && wait.kind !== 'signal' && wait.kind !== 'step') continue;
      if (!isOpen(wait.waitId))
        this.#fail(
          'stale-wait',
          `${wait.kind} ${wait.waitId} of run ${short(book.runId)} shows as open, and the code does not wait for it`,
        );
    }
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}
