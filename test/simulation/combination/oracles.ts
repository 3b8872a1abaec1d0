import type { EpochMs } from '../../../lib/base/time.js';
import type { HistoryEvent, RunOutcome } from '../../../lib/history/event.js';
import { RunState } from '../../../lib/history/run-state.js';
import { toHead } from '../../../lib/store/items/head.js';
import { toInbox } from '../../../lib/store/items/inbox.js';
import { toRunName } from '../../../lib/store/items/run-name.js';
import { toToken } from '../../../lib/store/items/token.js';
import type { InboxRecord } from '../../../lib/history/records.js';
import type { Item } from '../../../lib/store/table.js';
import { sourceOf } from '../oracles.js';
import type { World } from '../world.js';
import { isEnded, isForced, isTimeout, short, type Accepted, type Book, type Chain } from './book.js';
import { DeliveryOracles } from './deliveries.js';
import { EndedOracles } from './ended-oracles.js';
import { noticeMs, wasTroubled, type Known } from './known.js';
import { PushingAgent } from './pushing-agent.js';
import { ScheduleOracles } from './schedule-oracles.js';
import { ServedOracles } from './served/served-oracles.js';
import { ServerLimitOracles } from './server-limit-oracles.js';
import { StartOracles } from './start-oracles.js';
import { TaskOracles } from './task-oracles.js';
import type { Case } from './timetable.js';
import { WaitingOracles } from './waiting-oracles.js';
import { WorkOracles } from './work-oracles.js';

const S = 1_000;

/**
 * Checks the engine's promises with each write; its parts do so from time to time and at the end. Reads only those of
 * the engine's own formats that are stored for ever: items, events, markers.
 */
export class Oracles {
  readonly starts: StartOracles;
  readonly deliveries: DeliveryOracles;
  readonly work: WorkOracles;
  readonly tasks: TaskOracles;
  readonly waiting: WaitingOracles;
  readonly ended: EndedOracles;
  /** Missing: the server does not push. */
  readonly pushes: PushingAgent | undefined;
  /** Missing: the server has no limits. */
  readonly limits: ServerLimitOracles | undefined;
  /** Missing: nothing is served. */
  readonly served: ServedOracles | undefined;
  readonly #schedules: ScheduleOracles;
  /** What all oracles know. */
  readonly known: Known;
  readonly #world: World;
  /** Inbox items of runs without a head. */
  readonly #seeded = new Map<string, Item[]>();
  /** The deadline that each wait had before the write that moved it last. */
  readonly #movedFrom = new Map<string, number>();
  /** The chains that an id has pointed to, by their first run. */
  readonly #named = new Map<string, Set<string>>();

  constructor(world: World, given: Case, troubleUntilMs: (atMs: EpochMs) => EpochMs) {
    const skewMs = Math.max(0, ...given.skews.map(Math.abs)) * S;
    const known: Known = { world, given, books: new Map(), skewMs, troubleUntilMs };
    this.known = known;
    this.#world = world;
    this.starts = new StartOracles(known);
    this.deliveries = new DeliveryOracles(world, this.starts, (runId) => this.lastOf(runId));
    this.#schedules = new ScheduleOracles(known);
    this.work = new WorkOracles(known, this.#schedules);
    const { pushes, perMinute, concurrency } = given.agent ?? {};
    this.pushes = pushes === undefined ? undefined : new PushingAgent(known, pushes);
    const isLimited = perMinute !== undefined || concurrency !== undefined;
    this.limits = isLimited ? new ServerLimitOracles(known, given.agent ?? {}) : undefined;
    this.served = given.served === undefined ? undefined : new ServedOracles(known);
    this.tasks = new TaskOracles(known, this.work);
    this.waiting = new WaitingOracles(known, this.starts);
    this.ended = new EndedOracles(known, this.starts);
  }

  get books(): readonly Book[] {
    return [...this.known.books.values()];
  }

  book(runId: string): Book | undefined {
    return this.known.books.get(runId);
  }

  /** Returns the deadline that a wait had before it was moved last; undefined if it never was. */
  movedFrom({ runId, waitId }: { readonly runId: string; readonly waitId: string }): number | undefined {
    return this.#movedFrom.get(`${runId} ${waitId}`);
  }

  /** Returns the last existing run of the chain. */
  lastOf(runId: string): Book | undefined {
    const chain = this.known.books.get(runId)?.chain;
    return chain === undefined ? undefined : this.known.books.get(chain.runIds.at(-1)!);
  }

  // ----- with each write -----

  onApplied(item: Item): void {
    const { pk, sk } = item;
    if (pk.startsWith('run#')) {
      const runId = pk.slice('run#'.length);
      const old = this.known.books.get(runId)?.items.get(sk);
      if (sk === 'a') this.#onHead(runId, item, old);
      const book = this.known.books.get(runId);
      if (book === undefined) {
        this.#seeded.set(runId, [...(this.#seeded.get(runId) ?? []), item]);
        return;
      }
      book.items.set(sk, item);
      if (sk.startsWith('h#')) this.#onCommit(book, item, old);
      else if (sk.startsWith('p#')) this.served?.receivers.onItem(item);
      else if (sk.startsWith('t#')) {
        const token = toToken(item);
        const before = Number(old?.['deadlineAtMs'] ?? Infinity);
        if (before !== Infinity && before !== token.deadlineAtMs)
          this.#movedFrom.set(`${runId} ${token.waitId}`, before);
        this.tasks.onToken(book, token, old);
        if (token.settlement !== undefined && old?.['settledAtMs'] === undefined) this.pushes?.onSettled(token);
      } else if (sk.startsWith('i#') && old === undefined) this.#onInbox(book, toInbox(item));
      return;
    }
    if (pk.startsWith('name#')) {
      const chains = this.#named.get(pk) ?? new Set();
      chains.add(toRunName(item).runId);
      this.#named.set(pk, chains);
    }
    if (pk.startsWith('throttle#')) this.starts.onThrottle(item);
    if (pk.startsWith('server#')) this.limits?.onApplied(item);
    if (pk.startsWith('schedule#')) this.#schedules.onSchedule(pk, item);
  }

  #onHead(runId: string, item: Item, old: Item | undefined): void {
    const head = toHead(item);
    const known = this.known.books.get(runId);
    if (known === undefined) {
      const before = head.previousRunId === undefined ? undefined : this.known.books.get(head.previousRunId);
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
      this.known.books.set(runId, book);
      this.starts.onNewRun(book);
      this.served?.onNewRun(book);
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
        !wasTroubled(this.known, world.writer, terminatedAtMs)
      )
        this.#fail('began-after-terminate', `run ${short(runId)} of a terminated chain`);
    }
    if (events.some((event) => event.type === 'RunEnded')) book.endedAtMs = world.nowMs;
  }

  #onEvent(book: Book, event: HistoryEvent): void {
    this.served?.onEvent(book, event);
    const { furthestMs } = this.#world;
    const wait = 'waitId' in event ? book.state.open.get(event.waitId) : undefined;
    if (event.type === 'TimerFired' && wait?.kind === 'timer' && furthestMs < wait.firesAtMs)
      this.#fail('early-timer', `wait ${event.waitId}`);
    if (event.type === 'SignalWaitTimedOut' && wait?.kind === 'signal' && furthestMs < (wait.deadlineAtMs ?? 0))
      this.#fail('early-deadline', `wait ${event.waitId}`);
    if (event.type === 'StepFailed') this.work.checkInterrupted(book, event.error.code);
    const untilMs = book.state.pausedUntilMs ?? 0;
    if (event.type === 'RunResumed' && event.inboxId === undefined && untilMs > furthestMs)
      this.#fail(
        'resumed-by-itself',
        `the pause of run ${short(book.runId)} was to hold until second ${this.#world.secondsOf(untilMs)}`,
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
      !wasTroubled(this.known, this.#world.writer, control.sinceMs)
    )
      this.#fail('ended-while-paused', `run ${short(runId)}: ${outcome.status}`);
  }

  #checkOneUnderWay(book: Book): void {
    const first = book.chain.runIds[0];
    for (const [name, runIds] of this.#named) {
      const chains = new Set(
        [...runIds].map((runId) => this.known.books.get(runId)?.chain).filter((one) => one !== undefined),
      );
      if (!chains.has(book.chain)) continue;
      for (const other of chains) {
        if (other === book.chain) continue;
        const last = this.known.books.get(other.runIds.at(-1)!);
        const isUnderWay =
          last !== undefined &&
          (last.endedAtMs === undefined
            ? other.runIds.some((runId) => this.known.books.get(runId)?.startedAtMs !== undefined)
            : last.ending?.status === 'continued');
        if (isUnderWay)
          this.#fail(
            'two-under-way',
            `under ${name.slice(0, 12)} run ${short(first ?? '')} begins while ${short(last.runId)} has not ended`,
          );
      }
    }
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

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
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
