import type { WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import { waitDueAtMs } from '../../decide/deadline.js';
import { newRequests, type RunSnapshot } from '../../decide/new-events.js';
import { isNextWithWorker } from '../../decide/worker-start.js';
import type { Commit, HistoryEvent } from '../../history/event.js';
import type { LifecycleEvent } from '../../history/lifecycle-event.js';
import { questionIdOf } from '../../history/remote-question.js';
import type { InboxRecord, RunHead, RunRecords, TokenRecord } from '../../history/records.js';
import type {
  OpenChild,
  OpenExternal,
  OpenLongStep,
  OpenRemoteTask,
  OpenWait,
  RunState,
} from '../../history/run-state.js';
import type { Settlement } from '../../history/settlement.js';
import type { Execution } from '../../replay/execution.js';

/** A loaded run, with which a pass begins. */
interface LoadedRun {
  readonly head: RunHead;
  readonly state: RunState;
  readonly tokens: Map<WaitId, TokenRecord>;
  readonly inbox: Map<string, InboxRecord>;
  /** The execution replayed to the end of the log, if warm; it reads from the maps above. */
  readonly warm?: Execution;
  /** The log. Replayed first if nothing is warm. */
  readonly commits: readonly Commit[];
  /** Lifecycle events still to be published; undefined if none are published for the run. */
  readonly unpublished: readonly LifecycleEvent[] | undefined;
}

/** Waits with a deadline that a heartbeat may move. */
export type MovableWait = OpenExternal | OpenChild | OpenLongStep;

/** A run as one pass has it in hand: what was read, what the pass adds, and what follows from both. Does no IO. */
export class RunInHand implements RunSnapshot {
  readonly head: RunHead;
  readonly state: RunState;
  readonly tokens: Map<WaitId, TokenRecord>;
  readonly inbox: Map<string, InboxRecord>;
  readonly warm: Execution | undefined;
  readonly commits: readonly Commit[];
  readonly unpublished: readonly LifecycleEvent[] | undefined;
  /** Starts whose server must not be called, and until when. The log records the first time only. */
  readonly heldUntilMs = new Map<WaitId, EpochMs>();
  /** The execution that the pass continues. Undefined as long as the run may end or rest without its code. */
  execution: Execution | undefined;
  /** Computed again after the inbox has been read. */
  #requests: readonly InboxRecord[] | undefined;
  /** Waits and requests that this pass has taken in: no other owner removes their markers. */
  readonly #takenHere = new Set<string>();

  constructor(known: LoadedRun) {
    this.head = known.head;
    this.state = known.state;
    this.tokens = known.tokens;
    this.inbox = known.inbox;
    this.warm = known.warm;
    this.commits = known.commits;
    this.unpublished = known.unpublished;
  }

  /** Creates it from a run that was read whole. */
  static ofRecords(
    { head, commits, tokens, inbox }: RunRecords,
    state: RunState,
    unpublished: LoadedRun['unpublished'],
  ): RunInHand {
    return new RunInHand({
      head,
      state,
      unpublished,
      tokens: new Map(tokens.map((token) => [token.waitId, token])),
      inbox: new Map(inbox.map((item) => [item.inboxId, item])),
      commits,
    });
  }

  /** Whether no commit exists yet. */
  get isNew(): boolean {
    return this.state.seq === 0;
  }

  get requests(): readonly InboxRecord[] {
    return (this.#requests ??= newRequests(this.inbox, this.state));
  }

  readonly isWaitedFor = (wait: OpenWait): boolean => this.execution?.command(wait.waitId) !== undefined;

  isOverdue(nowMs: EpochMs): boolean {
    return (this.head.deadlineAtMs ?? Infinity) <= nowMs;
  }

  /** Adds what was read of the inbox again. */
  addToInbox(items: readonly InboxRecord[]): void {
    for (const item of items) this.inbox.set(item.inboxId, item);
    this.#requests = undefined;
  }

  /** Applies a commit that succeeded. */
  applyCommit(seq: number, events: readonly HistoryEvent[]): void {
    this.state.applyCommit(seq, events);
    for (const event of events) {
      if (event.type === 'TokenSettled') this.#takenHere.add(event.waitId);
      else if ('inboxId' in event) this.#takenHere.add(event.inboxId);
    }
    this.#requests = this.#requests?.filter(({ inboxId }) => !this.state.takenInbox.has(inboxId));
  }

  /** Forgets what has been taken in; if its marker still stands, the sweep's wake has all of it read again. */
  forgetTaken(): void {
    const { openTokens, takenInbox } = this.state;
    for (const waitId of this.tokens.keys()) if (!openTokens.has(waitId)) this.tokens.delete(waitId);
    for (const inboxId of this.inbox.keys()) if (takenInbox.has(inboxId)) this.inbox.delete(inboxId);
  }

  // ----- tokens -----

  /** Records the current state of a token. */
  noteToken(token: TokenRecord | undefined): void {
    if (token !== undefined) this.tokens.set(token.waitId, token);
  }

  settlementOf(waitId: WaitId): Settlement | undefined {
    return this.tokens.get(waitId)?.settlement;
  }

  isSettled({ waitId }: Pick<OpenWait, 'waitId'>): boolean {
    return this.settlementOf(waitId) !== undefined;
  }

  isStarted(wait: OpenRemoteTask): boolean {
    return wait.handle !== undefined || this.tokens.get(wait.waitId)?.handle !== undefined || this.isSettled(wait);
  }

  /** Returns true if a worker makes the next attempt: meanwhile no turn calls, and nothing of it is due here. */
  isWithWorker(wait: OpenRemoteTask): boolean {
    const token = this.tokens.get(wait.waitId);
    return token !== undefined && isNextWithWorker(wait, token);
  }

  /** Returns true if the log has what a worker left on the item, so that the item's marker can go. */
  isWorkerStartTaken({ waitId, workerStart, handle, settlement }: TokenRecord): boolean {
    const wait = this.state.open.get(waitId);
    if (workerStart === undefined || handle !== undefined || settlement !== undefined) return false;
    return wait?.kind === 'remoteTask' && !this.isWithWorker(wait);
  }

  /**
   * Returns true if a worker left the event on the token: the next pass finds it there, if the log still waits for it.
   */
  isOnItem(event: HistoryEvent): boolean {
    const came = 'waitId' in event ? this.tokens.get(event.waitId)?.workerStart?.came : undefined;
    if (came?.type !== event.type) return false;
    return !('error' in event) || ('error' in came && came.error === event.error);
  }

  /** Returns true if the server asked questions before it creates a task, and some are unanswered. */
  waitsForAnswers(wait: OpenRemoteTask, nowMs: EpochMs): boolean {
    const questions = this.tokens.get(wait.waitId)?.questions;
    if (questions?.round === undefined || questions.round !== wait.rounds) return false;
    const { list, round } = questions;
    const isAnswered = list.every((question) => wait.answers.has(questionIdOf({ question, round })));
    return !isAnswered && nowMs < wait.deadlineAtMs;
  }

  // ----- instants and markers -----

  /** Returns the deadline in the log, unless a heartbeat has moved it since. */
  deadlineOf(wait: MovableWait): EpochMs | undefined {
    return this.tokens.get(wait.waitId)?.deadlineAtMs ?? wait.deadlineAtMs;
  }

  isLater(wait: OpenWait, nowMs: EpochMs): boolean {
    // Not put off; it may wait for answers.
    if (wait.kind === 'remoteTask' && wait.retryAtMs === undefined) return false;
    return (this.#waitDueAtMs(wait) ?? 0) > nowMs;
  }

  /** Returns when waits that are not under way are due, and the run's deadline. */
  dueInstants(isUnderWay: (waitId: WaitId) => boolean): readonly EpochMs[] {
    const instants: EpochMs[] = this.head.deadlineAtMs === undefined ? [] : [this.head.deadlineAtMs];
    for (const wait of this.state.open.values()) {
      if (isUnderWay(wait.waitId) || !this.isWaitedFor(wait)) continue;
      if (wait.kind === 'remoteTask' && (this.isStarted(wait) || this.isWithWorker(wait))) continue;
      const mayMove = wait.kind === 'external' || wait.kind === 'child' || wait.kind === 'longStep';
      const dueAtMs = mayMove ? this.deadlineOf(wait) : this.#waitDueAtMs(wait);
      if (dueAtMs !== undefined) instants.push(dueAtMs);
    }
    return instants;
  }

  /** Returns the instant in the log, unless the server of a start must not be called for longer. */
  #waitDueAtMs(wait: OpenWait): EpochMs | undefined {
    const heldUntilMs = wait.kind === 'remoteTask' ? this.heldUntilMs.get(wait.waitId) : undefined;
    if (wait.kind !== 'remoteTask' || heldUntilMs === undefined) return waitDueAtMs(wait);
    return Math.min(Math.max(heldUntilMs, wait.retryAtMs ?? 0), wait.deadlineAtMs);
  }

  /**
   * Returns true if there is a marker that nothing else removes. The owner of an earlier turn may still remove those
   * that it took in.
   */
  hasStandingMarker(): boolean {
    const stands = (id: string, isTaken: boolean, { dueAtMs }: { readonly dueAtMs?: EpochMs }): boolean =>
      dueAtMs !== undefined && (!isTaken || this.#takenHere.has(id));
    const { settled, takenInbox } = this.state;
    return (
      [...this.tokens.values()].some((token) => stands(token.waitId, settled.has(token.waitId), token)) ||
      [...this.inbox.values()].some((item) => stands(item.inboxId, takenInbox.has(item.inboxId), item))
    );
  }
}
