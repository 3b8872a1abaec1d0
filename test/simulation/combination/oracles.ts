import { hasCode, isEngineError } from '../../../lib/base/errors.js';
import type { EpochMs } from '../../../lib/base/time.js';
import type { HistoryEvent, RunOutcome } from '../../../lib/history/event.js';
import { RunState } from '../../../lib/history/run-state.js';
import { toHead } from '../../../lib/store/items/head.js';
import { toInbox } from '../../../lib/store/items/inbox.js';
import { toRunName } from '../../../lib/store/items/run-name.js';
import { toSchedule } from '../../../lib/store/items/schedule.js';
import { toToken } from '../../../lib/store/items/token.js';
import type { InboxRecord, TokenRecord } from '../../../lib/history/records.js';
import type { Item } from '../../../lib/store/table.js';
import { sourceOf } from '../oracles.js';
import type { Process, RemoteTask, World } from '../world.js';
import { isEnded, isForced, isTimeout, short, type Accepted, type Book, type Chain } from './book.js';
import { DeliveryOracles } from './deliveries.js';
import { StartOracles } from './start-oracles.js';
import type { Told } from './telling.js';
import type { Case } from './timetable.js';

const S = 1_000;
/** Time in which a turn in flight sees news if nothing goes wrong: two seconds, and the time of its operations. */
export const noticeMs = 5 * S;
/** Two sweeps, a visibility timeout, and the time of a turn. */
const settleMs = 230 * S;

/**
 * Checks the engine's promises with each write, from time to time and at the end. Reads only those of the engine's own
 * formats that are stored for ever: items, events, markers.
 */
export class Oracles {
  readonly starts: StartOracles;
  readonly deliveries: DeliveryOracles;
  readonly #world: World;
  readonly #case: Case;
  readonly #books = new Map<string, Book>();
  /** Inbox items of runs without a head. */
  readonly #seeded = new Map<string, Item[]>();
  /** The chains that an id has pointed to, by their first run. */
  readonly #named = new Map<string, Set<string>>();
  readonly #helpless = new Set<string>();
  readonly #ticks = new Map<string, EpochMs>();
  /** Instants at which sweeps failed. */
  readonly #sweepTroubles: EpochMs[] = [];
  /** Returns when the store last refused requests of all processes. */
  readonly #troubleUntilMs: (atMs: EpochMs) => EpochMs;
  readonly #skewMs: number;
  /** Notices that processes have claimed. */
  readonly #claims = new Set<string>();

  constructor(world: World, given: Case, troubleUntilMs: (atMs: EpochMs) => EpochMs) {
    this.#world = world;
    this.#case = given;
    this.#troubleUntilMs = troubleUntilMs;
    this.#skewMs = Math.max(0, ...given.skews.map(Math.abs)) * S;
    this.starts = new StartOracles(world, given, { books: this.#books, skewMs: this.#skewMs });
    this.deliveries = new DeliveryOracles(world, this.starts, (runId) => this.lastOf(runId));
  }

  get books(): readonly Book[] {
    return [...this.#books.values()];
  }

  book(runId: string): Book | undefined {
    return this.#books.get(runId);
  }

  /** Returns the last existing run of the chain. */
  lastOf(runId: string): Book | undefined {
    const chain = this.#books.get(runId)?.chain;
    return chain === undefined ? undefined : this.#books.get(chain.runIds.at(-1)!);
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }

  // ----- with each write -----

  onApplied(item: Item): void {
    const { pk, sk } = item;
    if (pk.startsWith('run#')) {
      const runId = pk.slice('run#'.length);
      const old = this.#books.get(runId)?.items.get(sk);
      if (sk === 'a') this.#onHead(runId, item, old);
      const book = this.#books.get(runId);
      if (book === undefined) {
        this.#seeded.set(runId, [...(this.#seeded.get(runId) ?? []), item]);
        return;
      }
      book.items.set(sk, item);
      if (sk.startsWith('h#')) this.#onCommit(book, item, old);
      else if (sk.startsWith('t#')) this.#onToken(book, toToken(item), old);
      else if (sk.startsWith('i#') && old === undefined) this.#onInbox(book, toInbox(item));
      return;
    }
    if (pk.startsWith('name#')) {
      const chains = this.#named.get(pk) ?? new Set();
      chains.add(toRunName(item).runId);
      this.#named.set(pk, chains);
    }
    if (pk.startsWith('schedule#')) this.#onSchedule(pk, item);
  }

  #onHead(runId: string, item: Item, old: Item | undefined): void {
    const head = toHead(item);
    const known = this.#books.get(runId);
    if (known === undefined) {
      const before = head.previousRunId === undefined ? undefined : this.#books.get(head.previousRunId);
      const chain: Chain = before?.chain ?? {
        runIds: [],
        accepted: [],
        control: { is: 'running', sinceMs: 0 },
        terminatedAtMs: undefined,
        hasLoss: false,
      };
      const book: Book = {
        runId,
        chain,
        place: chain.runIds.length,
        head,
        seq: 0,
        events: [],
        state: new RunState(),
        sources: new Set(),
        items: new Map((this.#seeded.get(runId) ?? []).map((one) => [one.sk, one])),
        startedAtMs: undefined,
        endedAtMs: undefined,
        ending: undefined,
        lost: 0,
        goneSinceMs: undefined,
        gaveUp: 0,
        work: new Map(),
        errors: new Map(),
      };
      chain.runIds.push(runId);
      this.#books.set(runId, book);
      this.starts.onNewRun(book);
      return;
    }
    known.head = head;
    if (old !== undefined) this.starts.onHead(known, toHead(old));
    if (old !== undefined && isEnded(old['status']) && !isEnded(head.status)) this.#fail('ended-run-revived', runId);
  }

  #onCommit(book: Book, item: Item, old: Item | undefined): void {
    const { runId, chain } = book;
    const world = this.#world;
    const { seq, events } = world.decode(item);
    if (old !== undefined) this.#fail('commit-overwritten', item.sk);
    if (seq !== book.seq + 1) this.#fail('log-gap', `commit ${seq} after ${book.seq}`);
    if (book.endedAtMs !== undefined) this.#fail('commit-after-end', item.sk);
    if (
      book.ending !== undefined &&
      !(events.length === 1 && events[0]?.type === 'RunEnded' && events[0].status === book.ending.status)
    )
      this.#fail('commit-after-ending', item.sk);
    for (const event of events) {
      const source = onceOf(event);
      if (source !== undefined && book.sources.has(source)) this.#fail('event-twice', source);
      if (source !== undefined) book.sources.add(source);
      if (event.atMs > world.furthestMs)
        this.#fail(
          'event-from-the-future',
          `${event.type} of second ${world.secondsOf(event.atMs)} at second ${world.seconds}`,
        );
      this.#onEvent(book, event);
      book.events.push(event);
    }
    // A forced stop needs none of the missing items.
    const isForcedEnd = events.some((event) => event.type === 'RunEnding' && isForced(event.outcome));
    const { goneSinceMs } = book;
    if (goneSinceMs !== undefined && book.ending === undefined && !isForcedEnd)
      this.#fail('went-on-after-loss', `run ${short(runId)}: ${events.map(({ type }) => type).join(' ')}`);
    book.seq = seq;
    book.state.applyCommit(seq, events);
    const ending = events.find((event) => event.type === 'RunEnding');
    if (ending?.type === 'RunEnding') this.#onEnding(book, ending.outcome);
    // A run that ends with its first commit has run none of its code.
    if (events.some((event) => event.type === 'RunStarted') && (ending === undefined || !isForced(ending.outcome))) {
      book.startedAtMs = world.nowMs;
      this.#checkOneUnderWay(book);
      this.starts.onBegins(book);
      const { terminatedAtMs } = chain;
      if (
        terminatedAtMs !== undefined &&
        world.nowMs > terminatedAtMs + noticeMs &&
        !this.#wasTroubled(world.writer, terminatedAtMs)
      )
        this.#fail('began-after-terminate', `run ${short(runId)} of a terminated chain`);
    }
    if (events.some((event) => event.type === 'RunEnded')) book.endedAtMs = world.nowMs;
  }

  #onEvent(book: Book, event: HistoryEvent): void {
    const { furthestMs } = this.#world;
    const wait = 'waitId' in event ? book.state.open.get(event.waitId) : undefined;
    if (event.type === 'TimerFired' && wait?.kind === 'timer' && furthestMs < wait.firesAtMs)
      this.#fail('early-timer', `wait ${event.waitId}`);
    if (event.type === 'SignalWaitTimedOut' && wait?.kind === 'signal' && furthestMs < (wait.deadlineAtMs ?? 0))
      this.#fail('early-deadline', `wait ${event.waitId}`);
    if (event.type === 'StepFailed') this.#checkInterrupted(book, event.error.code);
    const untilMs = book.state.pausedUntilMs ?? 0;
    if (event.type === 'RunResumed' && event.inboxId === undefined && untilMs > furthestMs)
      this.#fail(
        'resumed-by-itself',
        `the pause of run ${short(book.runId)} was to hold until second ${this.#world.secondsOf(untilMs)}`,
      );
  }

  /**
   * Checks that a process has died for each strike. Several attempts of one step may be lost with one process, but not
   * at the same time.
   */
  #checkInterrupted(book: Book, code: string): void {
    if (code !== 'STEP_POISONED' && code !== 'STEP_INTERRUPTED') return;
    const needed = code === 'STEP_POISONED' ? 3 : 1;
    const frozen = [...this.#world.processes].filter(({ runId, isLost }) => runId === book.runId && isLost).length;
    // The result of a step that must not run again is lost with the turn that could not store it within its time.
    const unstored = code === 'STEP_INTERRUPTED' ? book.gaveUp : 0;
    if (book.lost + frozen + unstored >= needed) return;
    this.#fail(
      'step-struck-without-death',
      `${code} in run ${short(book.runId)}, of whose processes ${book.lost} were lost`,
    );
  }

  #onEnding(book: Book, outcome: RunOutcome): void {
    const { runId, chain, state } = book;
    book.ending = outcome;
    const isByForce = isForced(outcome);
    for (const [sk, item] of book.items) {
      if (!sk.startsWith('i#')) continue;
      const { inboxId, kind } = toInbox(item);
      if (!state.takenInbox.has(inboxId) && outcome.status !== 'terminated' && !isTimeout(outcome))
        this.#fail(kind === 'signal' ? 'signal-lost' : `${kind}-lost`, `run ${short(runId)} ends without ${inboxId}`);
      if (kind === 'terminate' && outcome.status !== 'terminated')
        this.#fail('terminate-ignored', `run ${short(runId)}: ${outcome.status}`);
    }
    const { control } = chain;
    if (
      !isByForce &&
      outcome.status !== 'continued' &&
      control.is === 'paused' &&
      book.startedAtMs !== undefined &&
      this.#world.nowMs > control.sinceMs + noticeMs &&
      !this.#wasTroubled(this.#world.writer, control.sinceMs)
    )
      this.#fail('ended-while-paused', `run ${short(runId)}: ${outcome.status}`);
  }

  #checkOneUnderWay(book: Book): void {
    const first = book.chain.runIds[0];
    for (const [name, runIds] of this.#named) {
      const chains = new Set(
        [...runIds].map((runId) => this.#books.get(runId)?.chain).filter((one) => one !== undefined),
      );
      if (!chains.has(book.chain)) continue;
      for (const other of chains) {
        if (other === book.chain) continue;
        const last = this.#books.get(other.runIds.at(-1)!);
        const isUnderWay =
          last !== undefined &&
          (last.endedAtMs === undefined
            ? other.runIds.some((runId) => this.#books.get(runId)?.startedAtMs !== undefined)
            : last.ending?.status === 'continued');
        if (isUnderWay)
          this.#fail(
            'two-under-way',
            `under ${name.slice(0, 12)} run ${short(first ?? '')} begins while ${short(last.runId)} has not ended`,
          );
      }
    }
  }

  #onToken(book: Book, token: TokenRecord, old: Item | undefined): void {
    const before = old === undefined ? undefined : toToken(old);
    const { settlement } = token;
    this.#onNotices(token, before);
    const label = `wait ${token.waitId} of run ${short(book.runId)}`;
    if (before?.dueAtMs !== undefined && token.dueAtMs === undefined) this.#checkTaskOf(token);
    if (before?.settlement !== undefined && JSON.stringify(before.settlement) !== JSON.stringify(settlement))
      this.#fail('settlement-replaced', label);
    if (settlement === undefined) {
      if (book.endedAtMs !== undefined) this.#fail('open-token-after-end', label);
      return;
    }
    if (before?.settlement !== undefined) return;
    if (book.endedAtMs !== undefined) this.#fail('settled-after-end', label);
    const { outcome } = settlement;
    if (outcome.kind === 'timed_out' && this.#world.furthestMs < (token.deadlineAtMs ?? Infinity))
      this.#fail('early-deadline', label);
    if (outcome.kind === 'run_ended' && book.ending === undefined) this.#fail('closed-but-run-goes-on', label);
    if (outcome.kind === 'failed') this.#checkInterrupted(book, outcome.error.code);
  }

  /** Checks a write of the notices of a question: no claim after an answer, and nothing counted that nobody got. */
  #onNotices(token: TokenRecord, before: TokenRecord | undefined): void {
    const { runId, waitId, notices, settlement } = token;
    for (const [at, line] of (notices?.lines ?? []).entries()) {
      const known = before?.notices?.lines[at];
      const id = `${runId}_${waitId}_${at}_${known?.number ?? 0}`;
      if (known !== undefined && line.tries > known.tries) {
        if (settlement !== undefined) this.#fail('notice-after-answer', id);
        this.#claims.add(`${this.#world.writer?.name ?? ''} ${id}`);
      }
      if (line.taken > (known?.taken ?? 0) && !this.#world.notices.some((notice) => notice.id === id))
        this.#fail('notice-lost', id);
    }
  }

  onNotice(process: Process, id: string): void {
    if (!this.#claims.has(`${process.name} ${id}`)) this.#fail('notice-not-claimed', `${id} by ${process.name}`);
  }

  #onInbox(book: Book, request: InboxRecord): void {
    this.starts.onInbox(book, request);
    this.deliveries.onInbox(book, request);
    const { inboxId, kind, ...item } = request;
    const { chain } = book;
    const { nowMs, writer } = this.#world;
    const accepted: Accepted = {
      inboxId,
      kind,
      name: 'name' in item ? item.name : '',
      begunAtMs: writer?.startedAtMs ?? nowMs,
      appliedAtMs: nowMs,
    };
    const last = chain.accepted.findLast((other) => other.kind === 'pause' || other.kind === 'resume');
    chain.accepted.push(accepted);
    if (kind === 'terminate') chain.terminatedAtMs ??= nowMs;
    if (kind !== 'pause' && kind !== 'resume') return;
    const isAlone = last === undefined || accepted.begunAtMs > last.appliedAtMs;
    const is = kind === 'pause' ? 'paused' : 'running';
    if (chain.control.is === is && isAlone) return;
    chain.control = { is: isAlone ? is : 'unknown', sinceMs: nowMs };
  }

  #onSchedule(pk: string, item: Item): void {
    const { tickAtMs, fromMs, pausedAtMs } = toSchedule(item);
    const before = this.#ticks.get(pk) ?? fromMs;
    if (tickAtMs === undefined) return;
    this.#ticks.set(pk, tickAtMs);
    // A tick that is refused is tried again until its time is over, and so may be that of those behind it.
    if (this.#case.limits?.kids === 'refuse') return;
    const { every = 1, catchUp = 10 } = this.#case.schedule ?? {};
    // A tick can be too old to be made up for before it is even due, if the clocks are this far apart.
    if (catchUp * 60 * S < 2 * this.#skewMs + 180 * S) return;
    const everyMs = every * 60 * S;
    if (before === undefined || pausedAtMs !== undefined || tickAtMs <= before) return;
    // The first tick after `fromMs` may be up to a whole interval later. If each sweep fails, the time to make up for
    // it passes.
    const hanging = [...this.#world.processes].filter(({ name }) => name.startsWith('sweep'));
    const troubles = [...this.#sweepTroubles, ...hanging.map(({ troubledAtMs }) => troubledAtMs)];
    const troubled = troubles.filter((atMs) => atMs > before).length;
    if (tickAtMs - before > everyMs && troubled < catchUp && !this.#isStoreTroubled(before, this.#world.nowMs))
      this.#fail(
        'ticks-lost',
        `after the tick of second ${this.#world.secondsOf(before)} comes that of second ${this.#world.secondsOf(tickAtMs)}`,
      );
  }

  /** Returns whether writes were refused for longer than a sweep in between. */
  #isStoreTroubled(fromMs: EpochMs, untilMs: EpochMs): boolean {
    return this.#case.entries.some((entry) => {
      if (entry.what !== 'throttle') return false;
      const beginMs = this.#world.nowMs - this.#world.seconds * S + entry.at * S;
      return beginMs < untilMs && beginMs + entry.for * S > fromMs && entry.for >= 60;
    });
  }

  // ----- processes -----

  onKilled(process: Process): void {
    this.#lose(process);
  }

  /** Records that the process is over and that its work may have to be repeated. */
  #lose(process: Process): void {
    const book = process.runId === undefined ? undefined : this.#books.get(process.runId);
    if (book !== undefined) book.lost++;
  }

  onOver(process: Process): void {
    if (process.name.startsWith('sweep') && process.troubledAtMs > 0) this.#sweepTroubles.push(process.troubledAtMs);
    if (process.isLost) this.#lose(process);
    const book = process.runId === undefined ? undefined : this.#books.get(process.runId);
    const { nowMs } = this.#world;
    if (book !== undefined && process.troubledAtMs > 0 && nowMs - process.startedAtMs > 25 * S) book.gaveUp++;
  }

  onFailed(process: Process, error: unknown): void {
    this.onOver(process);
    const { runId } = process;
    const book = runId === undefined ? undefined : this.#books.get(runId);
    if (book === undefined) return;
    if (hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN')) return;
    const text = isEngineError(error) ? `${error.code}: ${error.message}` : String(error);
    const count = (book.errors.get(text) ?? 0) + 1;
    book.errors.set(text, count);
    if (count === 2) this.#fail('turn-throws-again', text);
  }

  /** Returns whether something has gone wrong in the process, or everywhere, so that it may not have noticed yet. */
  #wasTroubled(process: Process | undefined, sinceMs: EpochMs): boolean {
    const lastMs = Math.max(process?.troubledAtMs ?? 0, Math.min(this.#world.nowMs, this.#world.lastFaultMs));
    return lastMs > 0 && lastMs > sinceMs - 10 * S;
  }

  /** Called when the store refused a handle for as long as the process had time, and the server refused its cancel. */
  onHelpless(process: string): void {
    this.#helpless.add(process);
  }

  // ----- work -----

  /** Called when an attempt of a step begins. `isCleanup` does not matter, since all work of a run counts. */
  onStepBegins(runId: string, key: string, process: Process | undefined): void {
    const book = this.#books.get(runId);
    if (book === undefined) return;
    const work = book.work.get(key) ?? { began: 0, failed: 0 };
    work.began++;
    book.work.set(key, work);
    // Counts a process of the run that is frozen or not yet found dead.
    const allowed = 1 + work.failed + book.lost + book.gaveUp + this.#beingLost(runId, process);
    if (work.began > allowed)
      this.#fail(
        'step-ran-again',
        `run ${short(runId)}: began ${work.began} times, failed ${work.failed} times, ${book.lost} processes lost`,
      );
    this.#onBegins(book, process, 'a step');
  }

  onStepFails(runId: string, key: string): void {
    const work = this.#books.get(runId)?.work.get(key);
    if (work !== undefined) work.failed++;
  }

  #beingLost(runId: string, own: Process | undefined): number {
    let count = 0;
    for (const process of this.#world.processes)
      if (process !== own && process.runId === runId && (process.isLost || process.troubledAtMs > 0)) count++;
    return count;
  }

  onRemoteStart(process: Process, key: string): void {
    const book = process.runId === undefined ? undefined : this.#books.get(process.runId);
    if (book === undefined || book.ending !== undefined) return;
    // A task that is no longer waited for may be started again, only to learn its id.
    const call = this.#world.callOf(key);
    const isOver = book.items.get(`t#${call.waitId}`)?.['settledAtMs'] !== undefined;
    if (!isOver) this.#onBegins(book, process, 'a remote task');
  }

  #onBegins(book: Book, process: Process | undefined, what: string): void {
    const { nowMs, furthestMs } = this.#world;
    const { chain, runId, head } = book;
    const { control, terminatedAtMs } = chain;
    const untroubled = (sinceMs: EpochMs): boolean =>
      nowMs > sinceMs + noticeMs && !this.#wasTroubled(process, sinceMs);
    if (control.is === 'paused' && untroubled(control.sinceMs) && furthestMs < control.sinceMs + 23 * 3_600 * S)
      this.#fail(
        'began-while-paused',
        `${what} of run ${short(runId)}, paused at second ${this.#second(control.sinceMs)}`,
      );
    if (terminatedAtMs !== undefined && untroubled(terminatedAtMs))
      this.#fail('began-after-terminate', `${what} of run ${short(runId)}`);
    const clockMs = nowMs + (process?.skewMs ?? 0);
    if (
      what === 'a step' &&
      head.deadlineAtMs !== undefined &&
      clockMs > head.deadlineAtMs + 100 &&
      process !== undefined &&
      !this.#wasTroubled(process, head.deadlineAtMs - process.skewMs)
    )
      this.#fail('began-after-timeout', `${what} of run ${short(runId)}, ${(clockMs - head.deadlineAtMs) / S} s late`);
  }

  #second(atMs: EpochMs): number {
    return this.#world.secondsOf(atMs);
  }

  // ----- from time to time -----

  checkInstant(suspect: (book: Book, waitIds: readonly string[]) => void): void {
    for (const book of this.#books.values()) {
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
    const marked = [...book.items.values()].filter(({ dueAtMs }) => dueAtMs !== undefined);
    if (marked.length === 0) this.#fail('no-marker', `run ${short(runId)} will never be looked at`);
    // An open token has its task read or its step run; it needs no turn of the run.
    const isForTurn = ({ sk, settledAtMs }: Item): boolean => !sk.startsWith('t#') || settledAtMs !== undefined;
    const markers = marked.filter(isForTurn).map(({ dueAtMs }) => Number(dueAtMs));
    if (book.ending !== undefined || head.blocked !== undefined || state.seq === 0 || this.#isPaused(book)) return;
    if (markers.some((dueAtMs) => dueAtMs <= nowMs + this.#skewMs)) return;
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
    if (this.#isTroubledSince(sinceMs) || head.blocked !== undefined) return;
    this.starts.checkLate(book, sinceMs - this.#skewMs, this.#isPaused(book));
    if (head.deadlineAtMs !== undefined && head.deadlineAtMs < sinceMs - this.#skewMs)
      this.#fail('run-timeout-late', `run ${short(runId)}`);
    if (
      chain.terminatedAtMs !== undefined &&
      chain.terminatedAtMs < sinceMs - this.#skewMs &&
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
      if ((isRemote || !this.#isPaused(book)) && Number(deadlineAtMs) < sinceMs - this.#skewMs)
        this.#fail('late-deadline', `${sk} of run ${short(runId)}`);
    }
    if (state.seq === 0 || this.#isPaused(book)) return;
    for (const [sk, item] of items) {
      if (!sk.startsWith('i#') || state.takenInbox.has(sk.slice(2))) continue;
      if (Number(item['atMs']) < sinceMs - this.#skewMs && chain.control.sinceMs < sinceMs)
        this.#fail('request-late', `${sk.slice(0, 30)} of run ${short(runId)}`);
    }
  }

  /** Checks that no notice of an open question has been due for long. */
  #checkNotices(item: Item, sinceMs: EpochMs): void {
    const { runId, waitId, notices } = toToken(item);
    for (const { to, dueAtMs } of notices?.lines ?? [])
      if ((dueAtMs ?? Infinity) < sinceMs - this.#skewMs) this.#fail('notice-late', `${to}: ${runId} ${waitId}`);
  }

  #isTroubledSince(sinceMs: EpochMs): boolean {
    return Math.max(this.#world.lastFaultMs, this.#troubleUntilMs(this.#world.nowMs)) > sinceMs;
  }

  /** Checks that a resume that was accepted after the pause has ended it. */
  #checkResumed({ state, chain, head, runId }: Book): void {
    const { nowMs } = this.#world;
    const sinceMs = nowMs - settleMs - this.#skewMs;
    const { control } = chain;
    if (control.is !== 'running' || control.sinceMs === 0 || control.sinceMs > sinceMs) return;
    if (this.#isTroubledSince(sinceMs) || head.blocked !== undefined || state.pausedUntilMs === undefined) return;
    if (state.pausedUntilMs > nowMs + this.#skewMs) this.#fail('resume-ignored', `run ${short(runId)} is still paused`);
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

  // ----- at the end -----

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
    const next = nextId === undefined ? undefined : this.#books.get(nextId);
    if (ending.status === 'continued' && next === undefined) {
      this.#fail('next-run-missing', short(runId));
      return;
    }
    if (next === undefined) return;
    if (ending.status !== 'continued') this.#fail('went-on-after-end', `${short(runId)} is ${ending.status}`);
    for (const { inboxId, kind } of chain.accepted) {
      if (!state.takenInbox.has(inboxId)) continue;
      const isHandedOn = next.items.has(`i#${inboxId}`);
      if (kind === 'signal' && isHandedOn !== state.unreadSignals.has(inboxId))
        this.#fail(isHandedOn ? 'signal-read-twice' : 'signal-not-handed-on', inboxId.slice(0, 40));
      if (kind === 'cancel' && told.heard === 0 && !isHandedOn)
        this.#fail('cancel-lost', `run ${short(runId)} was asked to cancel and went on as a new run`);
      const isAskedAnew = inboxId === 'cancel-replaced' && this.starts.isReplaced(chain);
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
        !this.#books.has(event.childRunId) &&
        !isSettledFromOutside(items.get(`t#${event.waitId}`))
      )
        this.#fail('child-missing', `run ${short(runId)}, wait ${event.waitId}`);
    const calls = wanted.filter((what) => what === 'left call').length;
    const called = events.filter(({ type }) => type === 'RemoteTaskRequested');
    if (calls > called.length) this.#fail('call-not-made', `run ${short(runId)}: ${calls} wanted`);
  }

  /** Checks that requests that callers sent in sequence act in that sequence. */
  checkOrder(): void {
    for (const chain of new Set(this.books.map((book) => book.chain))) {
      if (chain.hasLoss) continue;
      const places = new Map<string, number>();
      let place = 0;
      for (const runId of chain.runIds)
        for (const event of this.#books.get(runId)?.events ?? []) {
          place++;
          if ('inboxId' in event && !places.has(event.inboxId)) places.set(event.inboxId, place);
        }
      for (const kinds of [
        ['signal', 'cancel'],
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
                `${earlier.kind} accepted at second ${this.#second(earlier.appliedAtMs)}, ${later.kind} sent at ${this.#second(later.begunAtMs)}`,
              );
      }
    }
  }

  /** Checks that no signal vanishes: it is with the run that took it in, or with one that continues this run. */
  checkStuck(): void {
    for (const { head, runId, chain, ending } of this.books) {
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
    for (const { items, runId, head, lost } of this.books) {
      if (!isEnded(head.status)) continue;
      for (const [sk, { dueAtMs }] of items)
        // A machine that went down with its queue has lost the turn that would remove the marker; the sweep does so
        // when it is due.
        if (dueAtMs !== undefined && (lost === 0 || Number(dueAtMs) < this.#world.nowMs))
          this.#fail('marker-left', `${sk} of run ${short(runId)}, which has ended`);
    }
  }

  /** Checks that a remote task that is no longer waited for was cancelled, is left by policy, or is listed. */
  checkTasks(): void {
    const world = this.#world;
    for (const task of world.remote.tasks) {
      const { runId, waitId } = world.callOf(task.key);
      const item = this.#books.get(runId)?.items.get(`t#${waitId}`);
      if (item === undefined) continue;
      const token = toToken(item);
      if (!this.#isLeftAlone(task, token)) continue;
      if (token.handle !== undefined) {
        this.#failsToStop(task, token);
        continue;
      }
      // Covers the tasks of a start whose reply no living process received.
      const knew = world.mustCancel.filter((known) => known.taskId === task.taskId);
      const isKnown = knew.some(({ process }) => !world.crashed.has(process) && !this.#helpless.has(process));
      const isFindable = world.tellsFates && task.madeAtMs <= (token.settlement?.atMs ?? 0) - this.#skewMs;
      if (isKnown || isFindable) this.#fail('task-forgotten', `${task.taskId}, wait ${waitId} of run ${short(runId)}`);
    }
  }

  /** Checks that the process which removes the marker of a wait with a known task has dealt with the task. */
  #checkTaskOf(token: TokenRecord): void {
    const taskId = token.handle?.taskId;
    const task = taskId === undefined ? undefined : this.#world.remote.tasks.find((one) => one.taskId === taskId);
    if (task !== undefined && this.#isLeftAlone(task, token)) this.#failsToStop(task, token);
  }

  #failsToStop({ taskId }: RemoteTask, { waitId, runId }: TokenRecord): void {
    this.#fail('task-runs-on', `${taskId}, wait ${waitId} of run ${short(runId)}: neither cancelled nor listed`);
  }

  /** Returns whether the task runs and will never be looked at again. */
  #isLeftAlone(task: RemoteTask, token: TokenRecord): boolean {
    if (task.cancelled || task.endsAtMs <= this.#world.nowMs) return false;
    const { settlement, onTimeout, onCancel, cancel, dueAtMs, runId, waitId } = token;
    const kind = settlement?.outcome.kind;
    if (kind !== 'run_ended' && kind !== 'timed_out' && kind !== 'abandoned') return false;
    const policy = kind === 'timed_out' ? onTimeout : onCancel;
    const item = this.#books.get(runId)?.items.get(`t#${waitId}`);
    return policy !== 'leave' && item?.['listPartition'] !== 'orphan' && cancel === undefined && dueAtMs === undefined;
  }
}

/**
 * Returns what identifies an event that may occur only once in a history. A step is begun again after each process that
 * died during it.
 */
function onceOf(event: HistoryEvent): string | undefined {
  if (event.type === 'StepStarted') return undefined;
  const source = sourceOf(event);
  const isOfTheRun = event.type === 'RunStarted' || event.type === 'RunEnding' || event.type === 'RunEnded';
  // Any other event with neither a wait nor a request of its own may occur again.
  return source === event.type && !isOfTheRun ? undefined : source;
}

/** Whether a caller has settled the wait: then a child that did not exist yet is not started. */
function isSettledFromOutside(item: Item | undefined): boolean {
  const by = item === undefined ? undefined : toToken(item).settlement?.by;
  return by === 'operator' || by === 'relay';
}
