import { toToken } from '../../../lib/store/items/token.js';
import type { Item } from '../../../lib/store/table.js';
import type { World } from '../world.js';
import { isEnded, isForced, short, type Book } from './book.js';
import type { Known } from './known.js';
import type { StartOracles } from './start-oracles.js';
import type { Told } from './telling.js';

/** Checks at the end of a simulation what became of each run. */
export class EndedOracles {
  readonly #known: Known;
  readonly #world: World;
  readonly #starts: StartOracles;

  constructor(known: Known, starts: StartOracles) {
    this.#known = known;
    this.#world = known.world;
    this.#starts = starts;
  }

  /** Checks a run that has ended, with what its code reports when it is replayed. */
  checkEnded(book: Book, told: Told): void {
    const { runId, chain, ending, state, place } = book;
    if (ending === undefined) return;
    if (!isForced(ending)) {
      const kind = ending.status === 'continued' ? '-by-next-run' : '';
      for (const { what, isBegun, isSettled } of told.owed)
        if (isBegun && !isSettled)
          this.#fail(
            what === 'saga' ? `saga-not-undone${kind}` : `shield-cut-off${kind}`,
            `run ${short(runId)} ended as ${ending.status}`,
          );
      this.#checkWanted(book, told);
    }
    if (chain.hasLoss) return;
    const nextId = chain.runIds[place + 1];
    const next = nextId === undefined ? undefined : this.#known.books.get(nextId);
    if (ending.status === 'continued' && next === undefined) {
      this.#fail('next-run-missing', short(runId));
      return;
    }
    if (next === undefined) return;
    if (ending.status !== 'continued') this.#fail('went-on-after-end', `${short(runId)} is ${ending.status}`);
    for (const { inboxId, kind } of chain.accepted) {
      if (!state.takenInbox.has(inboxId)) continue;
      const isHandedOn = next.items.has(`i#${inboxId}`);
      if ((kind === 'signal' || kind === 'message') && isHandedOn !== state.unreadSignals.has(inboxId))
        this.#fail(isHandedOn ? 'signal-read-twice' : 'signal-not-handed-on', inboxId.slice(0, 40));
      if (kind === 'cancel' && told.heard === 0 && !isHandedOn)
        this.#fail('cancel-lost', `run ${short(runId)} was asked to cancel and went on as a new run`);
      const isAskedAnew = inboxId === 'cancel-replaced' && this.#starts.isReplaced(chain);
      if (kind === 'cancel' && told.heard > 0 && isHandedOn && !isAskedAnew && this.#cancelsOf(book) === 1)
        this.#fail('cancel-heard-twice', `run ${short(runId)}`);
    }
  }

  #cancelsOf({ events }: Book): number {
    return events.filter(({ type }) => type === 'CancelRequested').length;
  }

  #checkWanted({ events, items, runId }: Book, { wanted }: Told): void {
    const children = wanted.filter((what) => what === 'abandoned child').length;
    const requested = events.filter((event) => event.type === 'ChildRequested' && event.parentClose === 'abandon');
    if (children > requested.length)
      this.#fail('child-not-asked-for', `run ${short(runId)}: ${children} wanted, ${requested.length} in the log`);
    for (const event of requested)
      if (
        event.type === 'ChildRequested' &&
        children >= requested.length &&
        !this.#known.books.has(event.childRunId) &&
        !isSettledFromOutside(items.get(`t#${event.waitId}`))
      )
        this.#fail('child-missing', `run ${short(runId)}, wait ${event.waitId}`);
    const calls = wanted.filter((what) => what === 'left call').length;
    const called = events.filter(({ type }) => type === 'RemoteTaskRequested');
    if (calls > called.length) this.#fail('call-not-made', `run ${short(runId)}: ${calls} wanted`);
  }

  /** Checks that requests that callers sent in sequence act in that sequence. */
  checkOrder(): void {
    for (const chain of new Set([...this.#known.books.values()].map((book) => book.chain))) {
      if (chain.hasLoss) continue;
      const places = new Map<string, number>();
      let place = 0;
      for (const runId of chain.runIds)
        for (const event of this.#known.books.get(runId)?.events ?? []) {
          place++;
          if ('inboxId' in event && !places.has(event.inboxId)) places.set(event.inboxId, place);
        }
      for (const kinds of [
        ['signal', 'message', 'cancel'],
        ['pause', 'resume'],
      ]) {
        // The newest run of a lane asks each run of the chain with the same request.
        const taken = chain.accepted.filter(
          ({ kind, inboxId }) => kinds.includes(kind) && places.has(inboxId) && inboxId !== 'cancel-replaced',
        );
        for (const [at, later] of taken.entries())
          for (const earlier of taken.slice(Math.max(0, at - 5), at))
            if (later.begunAtMs > earlier.appliedAtMs && places.get(later.inboxId)! < places.get(earlier.inboxId)!)
              this.#fail(
                'order-of-requests',
                `${earlier.kind} accepted at second ${this.#world.secondsOf(earlier.appliedAtMs)}, ${later.kind} sent at ${this.#world.secondsOf(later.begunAtMs)}`,
              );
      }
    }
  }

  /** Checks that every run has ended. */
  checkStuck(): void {
    for (const { head, runId, chain, ending } of this.#known.books.values()) {
      if (isEnded(head.status) || chain.hasLoss) continue;
      const why =
        head.blocked === undefined ? '' : `, blocked: ${head.blocked.code} ${head.blocked.message.slice(0, 120)}`;
      this.#fail(
        head.blocked === undefined ? 'stuck' : 'blocked',
        `run ${short(runId)} is ${head.status}${why}${ending === undefined ? '' : ', ending'}`,
      );
      if (chain.terminatedAtMs !== undefined)
        this.#fail('terminate-ignored', `run ${short(runId)} of a terminated chain goes on`);
    }
  }

  checkMarkersLeft(): void {
    for (const { items, runId, head, lost } of this.#known.books.values()) {
      if (!isEnded(head.status)) continue;
      for (const [sk, { dueAtMs }] of items)
        // A machine that went down with its queue has lost the turn that would remove the marker; the sweep does so
        // when it is due.
        if (dueAtMs !== undefined && (lost === 0 || Number(dueAtMs) < this.#world.nowMs))
          this.#fail('marker-left', `${sk} of run ${short(runId)}, which has ended`);
    }
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}

/** Whether a caller has settled the wait: then a child that did not exist yet is not started. */
function isSettledFromOutside(item: Item | undefined): boolean {
  const by = item === undefined ? undefined : toToken(item).settlement?.by;
  return by === 'operator' || by === 'relay';
}
