import { defined } from '../base/defined.js';
import pLimit from 'p-limit';
import { isUnreadable, type StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { dueShardsMin, readsInParallel, startRoundsMax } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import { encodeEvents } from '../history/codec.js';
import type { Commit, HistoryEvent, RemoteTaskHandle, RunOutcome } from '../history/event.js';
import * as items from './items.js';
import { encodePayload } from './payload.js';
import type {
  DueEntry,
  FailedTurns,
  InboxRecord,
  LongStepRecord,
  RemoteCancel,
  RunGlance,
  RunHead,
  RunName,
  RunPosition,
  RunRecords,
  RunStatus,
  RunSummary,
  ScheduleState,
  Settlement,
  TokenQuestions,
  TokenRecord,
  WorkerStart,
} from '../history/records.js';
import { ServerStates } from './server-states.js';
import { ShardedTable } from './sharded-table.js';
import type { Condition, Item, Key, Table, Update } from './table.js';

// The conditions of the protocol, each with its name.
const itemExists: Condition = { kind: 'itemExists' };
const itemAbsent: Condition = { kind: 'itemAbsent' };
const notSettled: Condition = { kind: 'absent', attribute: 'settledAtMs' };
const isSettled: Condition = { kind: 'present', attribute: 'settledAtMs' };
const hasDeadline: Condition = { kind: 'present', attribute: 'deadlineAtMs' };
const noHandle: Condition = { kind: 'absent', attribute: 'handle' };
const hasHandle: Condition = { kind: 'present', attribute: 'handle' };
const hasEnded: Condition = { kind: 'present', attribute: 'endedAtMs' };
const notTakenBeyond = (recorded: number): Condition => ({
  kind: 'absentOrAtMost',
  attribute: 'questionsTaken',
  value: recorded,
});
const noForm: Condition = { kind: 'absent', attribute: 'form' };
const attemptIs = (attempt: number): Condition => ({ kind: 'equals', attribute: 'attempt', value: attempt });
const workerAttemptIs = (attempt: number): Condition => ({ kind: 'equals', attribute: 'startAttempt', value: attempt });
const workerClaimIs = (claim: string): Condition => ({ kind: 'equals', attribute: 'startClaim', value: claim });
const nothingCame: Condition = { kind: 'absent', attribute: 'startCame' };
const generationIs = (generation: number): Condition => ({
  kind: 'equals',
  attribute: 'generation',
  value: generation,
});
const deadlineIs = (deadlineAtMs: EpochMs): Condition => ({
  kind: 'equals',
  attribute: 'deadlineAtMs',
  value: deadlineAtMs,
});
/** The deadline, if there is one, has not passed. */
const notOverdue = (atMs: EpochMs): Condition => ({ kind: 'absentOrAbove', attribute: 'deadlineAtMs', value: atMs });
const writerIs = (writerId: string): Condition => ({ kind: 'equals', attribute: 'writerId', value: writerId });
const neverSaved: Condition = { kind: 'absent', attribute: 'revision' };
const revisionIs = (revision: number): Condition => ({ kind: 'equals', attribute: 'revision', value: revision });
const dueStill = (dueAtMs: EpochMs): Condition => ({ kind: 'equals', attribute: 'dueAtMs', value: dueAtMs });
const statusIs = (status: RunStatus): Condition => ({ kind: 'equals', attribute: 'status', value: status });
const inboxCountIs = (count: number): Condition => ({ kind: 'equals', attribute: 'inboxCount', value: count });
/** Number of the recording of questions that come with the handle: greater than that of any round before it. */
const afterAllRounds = startRoundsMax + 1;
/** The marker on the head was not computed from a newer commit. */
const markerNotNewerThan = (seq: number): Condition => ({ kind: 'absentOrAtMost', attribute: 'dueSeq', value: seq });
const notPublishedBeyond = (seq: number): Condition => ({
  kind: 'absentOrAtMost',
  attribute: 'publishedSeq',
  value: seq,
});
const noBlockSince = (blocks: number): Condition => ({ kind: 'absentOrAtMost', attribute: 'blocks', value: blocks });

/** A commit that a turn wants to append. */
export interface NewCommit {
  readonly seq: number;
  /** Fresh for each distinct content: it tells a lost acknowledgement of our own write from another turn's commit. */
  readonly writerId: string;
  readonly events: readonly HistoryEvent[];
}

/** A marker of the head, computed from commit `seq`. `dueAtMs` undefined: none. */
interface HeadMarker {
  readonly seq: number;
  readonly dueAtMs: EpochMs | undefined;
  readonly publishedSeq?: number | undefined;
}

/** What the head must still be for a commit that fixes the outcome: nothing was accepted that this turn has not seen. */
export type HeadAsSeen = { readonly status: 'running'; readonly inboxCount: number } | { readonly status: 'ending' };

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  readonly cursor?: string;
}

/** A wait in a list. */
interface WaitRow {
  readonly runId: RunId;
  readonly waitId: WaitId;
}

/**
 * The protocol's reads and writes in the words of the domain. Every write that decides anything is conditional, and its
 * condition is written once, here, as data; a `Table` only obeys it. No method reads before it writes.
 * Each may throw `STORE_UNAVAILABLE` (nothing applied) or `STORE_RESULT_UNKNOWN` (drop memory, read again).
 */
export class RunStore {
  /** What the workers know of the remote servers. */
  readonly servers: ServerStates;
  /** Partitions of the due index into which this process puts markers. */
  readonly dueShards: number;
  readonly #table: ShardedTable;
  /** Requests that this process has sent to inboxes. */
  #sentCount = 0;

  constructor(table: Table, { dueShards = dueShardsMin }: { readonly dueShards?: number } = {}) {
    this.#table = new ShardedTable(table, dueShards);
    this.dueShards = dueShards;
    this.servers = new ServerStates(table);
  }

  // ----- start -----

  /** Puts the head if absent: the run exists from then on. `created: false` gives the head that was there. */
  async createRun(head: RunHead, writerId: string): Promise<{ readonly created: boolean; readonly head: RunHead }> {
    const result = await this.#table.write({
      kind: 'put',
      item: items.headItem(head, writerId),
      conditions: [itemAbsent],
    });
    if (result.ok) return { created: true, head };
    if (result.old === undefined) throw new Error('the store refused a put of an absent item');
    return { created: result.old['writerId'] === writerId, head: items.toHead(result.old) };
  }

  /** The head and a first signal, both or neither. `created: false`: nothing was written; `head` is the one that was there. */
  async createRunWithSignal(
    head: RunHead,
    writerId: string,
    signal: InboxRecord,
  ): Promise<{ readonly created: boolean; readonly head: RunHead | undefined }> {
    const result = await this.#table.transact([
      { kind: 'put', item: items.headItem({ ...head, inboxCount: 1 }, writerId), conditions: [itemAbsent] },
      { kind: 'put', item: items.inboxItem({ ...signal, position: 0 }), conditions: [itemAbsent] },
    ]);
    if (result.ok) return { created: true, head };
    const old = result.refused[0]?.old;
    return { created: old?.['writerId'] === writerId, head: old === undefined ? undefined : items.toHead(old) };
  }

  /** The run that an id of a caller points to. */
  async readRunName(nameKey: string): Promise<RunName | undefined> {
    const item = await this.#table.get(items.runNameKey(nameKey));
    return item === undefined ? undefined : items.toRunName(item);
  }

  /** The head, and the id that points to it from now on, both or neither. False: the id was pointed elsewhere meanwhile. */
  async createNamedRun(
    head: RunHead,
    writerId: string,
    name: { readonly nameKey: string; readonly generation: number },
  ): Promise<boolean> {
    const result = await this.#table.transact([
      { kind: 'put', item: items.headItem(head, writerId), conditions: [itemAbsent] },
      {
        kind: 'update',
        key: items.runNameKey(name.nameKey),
        set: { runId: head.runId, generation: name.generation + 1 },
        conditions: [name.generation === 0 ? itemAbsent : generationIs(name.generation)],
      },
    ]);
    return result.ok || result.refused[0]?.old?.['writerId'] === writerId;
  }

  /** Notes on the head of a continued run that its chain has come to `laterRunId`. */
  async noteLaterRun(runId: RunId, laterRunId: RunId): Promise<void> {
    const set = { laterRunId };
    await this.#table.write({ kind: 'update', key: items.headKey(runId), set, conditions: [itemExists] });
  }

  /** A request to a run whose head is put next, with an `inboxCount` that counts it and a marker that covers it. */
  async seedInbox(record: InboxRecord): Promise<void> {
    await this.#table.write({ kind: 'put', item: items.inboxItem(withoutMarker(record)), conditions: [itemAbsent] });
  }

  // ----- reading -----

  /** One consistent query of the partition, paged; not a snapshot. Undefined for an unknown run. */
  async readRun(runId: RunId): Promise<RunRecords | undefined> {
    return toRecords(await this.#table.queryPartition(items.partitionOf(runId)));
  }

  /**
   * What is newer than commit `seq`: the head as it is now, later commits, and of tokens and inbox those of `named`, or
   * all. Side by side, so no snapshot either. Undefined for an unknown run.
   */
  async readRunAfter(
    runId: RunId,
    seq: number,
    named?: readonly ({ readonly waitId: WaitId } | { readonly inboxId: string })[],
  ): Promise<RunRecords | undefined> {
    const keys = (named ?? []).map((one) =>
      'waitId' in one ? items.tokenKey(runId, one.waitId) : items.inboxKey(runId, one.inboxId),
    );
    const [newer, ...single] = await Promise.all([
      this.#table.queryPartition(
        items.partitionOf(runId),
        named === undefined ? undefined : items.commitPrefix,
        items.commitKey(runId, seq).sk,
      ),
      ...[items.headKey(runId), ...keys].map((key) => this.#table.get(key)),
    ]);
    return toRecords([...single.filter((item) => item !== undefined), ...newer]);
  }

  async readHead(runId: RunId): Promise<RunHead | undefined> {
    const item = await this.#table.get(items.headKey(runId));
    return item === undefined ? undefined : items.toHead(item);
  }

  /** What the head says without its payloads. */
  async glanceAtRun(runId: RunId): Promise<RunGlance | undefined> {
    const item = await this.#table.get(items.headKey(runId), items.glanceAttributes);
    return item === undefined ? undefined : items.toGlance(item);
  }

  async isInInbox(runId: RunId, inboxId: string): Promise<boolean> {
    return (await this.#table.get(items.inboxKey(runId, inboxId), ['kind'])) !== undefined;
  }

  /** Requests of a run, without what they hold, in the order of their ids. */
  async readInboxKinds(runId: RunId): Promise<readonly InboxRecord[]> {
    const found = await this.#table.queryPartition(
      items.partitionOf(runId),
      items.inboxPrefix,
      undefined,
      items.plainAttributes.inbox,
    );
    return found.map(items.toInbox);
  }

  /** Number of the last commit, whether it can be read or not. */
  async readLastSeq(runId: RunId): Promise<number> {
    const found = await this.#table.queryPartition(items.partitionOf(runId), items.commitPrefix, undefined, []);
    return found.length;
  }

  /**
   * The records of a run of which some cannot be read: commits that cannot are empty, of other items what holds no
   * payload is given. A settlement that cannot be read counts as that of a wait which nobody waits for any more.
   */
  async readWhatCanBe(runId: RunId): Promise<RunRecords | undefined> {
    const pk = items.partitionOf(runId);
    const headItem = await this.#table.get(items.headKey(runId), items.plainAttributes.head);
    if (headItem === undefined) return undefined;
    const commitKeys = await this.#table.queryPartition(pk, items.commitPrefix, undefined, []);
    const plainTokens = await this.#table.queryPartition(pk, items.tokenPrefix, undefined, items.plainAttributes.token);
    const limit = pLimit(readsInParallel);
    const readable = (key: Key): Promise<Item | undefined> => limit(() => orUnreadable(this.#table.get(key)));
    const commits = await Promise.all(
      commitKeys.map(
        async (key) =>
          (await orUnreadable(readable(key).then((item) => item && items.toCommit(item)))) ?? items.emptyCommit(key),
      ),
    );
    const tokens = await Promise.all(
      plainTokens.map(
        async (plain) =>
          (await orUnreadable(readable(plain).then((item) => item && items.toToken(item)))) ?? items.toToken(plain),
      ),
    );
    const inbox = await this.readInboxKinds(runId);
    return { head: items.toHead(headItem), commits, tokens, inbox };
  }

  async readToken(runId: RunId, waitId: WaitId): Promise<TokenRecord | undefined> {
    const item = await this.#table.get(items.tokenKey(runId, waitId));
    return item === undefined ? undefined : items.toToken(item);
  }

  async readTokens(runId: RunId): Promise<readonly TokenRecord[]> {
    return (await this.#table.queryPartition(items.partitionOf(runId), items.tokenPrefix)).map(items.toToken);
  }

  async readInbox(runId: RunId): Promise<readonly InboxRecord[]> {
    return (await this.#table.queryPartition(items.partitionOf(runId), items.inboxPrefix)).map(items.toInbox);
  }

  // ----- commits: only a turn writes them -----

  /** Appends to the log if nobody else has written commit `seq`: the compare-and-swap of the run. False: another turn was first. */
  async commit(runId: RunId, commit: NewCommit): Promise<boolean> {
    const result = await this.#table.write({ kind: 'put', item: commitItem(runId, commit), conditions: [itemAbsent] });
    return result.ok || wroteIt(result.old, commit);
  }

  /**
   * Appends a commit with `RunEnding` and closes the inbox, if no signal, cancel or terminate came meanwhile. The run that
   * it goes on as is named from here on: what is sent to this one is for that one.
   */
  async commitEnding(runId: RunId, commit: NewCommit, inboxCount: number, outcome: RunOutcome): Promise<boolean> {
    return this.#commitWithHead(runId, commit, {
      set: {
        status: 'ending',
        dueSeq: commit.seq,
        ...defined({ nextRunId: outcome.status === 'continued' ? outcome.nextRunId : undefined }),
      },
      conditions: [itemExists, statusIs('running'), inboxCountIs(inboxCount)],
    });
  }

  /**
   * Appends the terminal commit and gives the head its final status. `markAtMs` keeps the head in the due index until
   * the end effects are done; leave it out only when another marker of the run still stands.
   */
  async commitEnd(
    run: { readonly runId: RunId; readonly createdAtMs: EpochMs },
    commit: NewCommit,
    end: {
      readonly outcome: RunOutcome;
      readonly endedAtMs: EpochMs;
      readonly seen: HeadAsSeen;
      readonly markAtMs?: EpochMs;
    },
  ): Promise<boolean> {
    return this.#commitWithHead(run.runId, commit, {
      set: {
        status: end.outcome.status,
        ...defined({ nextRunId: end.outcome.status === 'continued' ? end.outcome.nextRunId : undefined }),
        endedAtMs: end.endedAtMs,
        dueSeq: commit.seq,
        ...items.listKeys(run.runId, end.outcome.status, run.createdAtMs),
        ...(end.markAtMs === undefined ? {} : items.marker(run.runId, end.markAtMs)),
      },
      remove: items.troubleAttributes,
      conditions: [
        itemExists,
        statusIs(end.seen.status),
        ...(end.seen.status === 'running' ? [inboxCountIs(end.seen.inboxCount)] : []),
      ],
    });
  }

  async #commitWithHead(runId: RunId, commit: NewCommit, head: Omit<Update, 'kind' | 'key'>): Promise<boolean> {
    const result = await this.#table.transact([
      { kind: 'put', item: commitItem(runId, commit), conditions: [itemAbsent] },
      { kind: 'update', key: items.headKey(runId), ...head },
    ]);
    return result.ok || wroteIt(result.refused[0]?.old, commit);
  }

  // ----- tokens -----

  /** Puts the token item, state `starting`, if absent: before every start, and before anybody can know the token. */
  async putToken(token: TokenRecord): Promise<{ readonly put: boolean; readonly token: TokenRecord }> {
    const result = await this.#table.write({ kind: 'put', item: items.tokenItem(token), conditions: [itemAbsent] });
    return result.ok ? { put: true, token } : { put: false, token: toTokenOr(result.old, token) };
  }

  /**
   * Claims start attempt `attempt` if the item stands at the one before, without settlement and handle. `workerDueAtMs`: a
   * worker makes the call, and somebody looks then whether it does.
   */
  async claimStartAttempt(
    runId: RunId,
    waitId: WaitId,
    claim: { readonly attempt: number; readonly writerId: string; readonly workerDueAtMs?: EpochMs },
  ): Promise<{ readonly claimed: boolean; readonly token: TokenRecord | undefined }> {
    const { attempt, writerId, workerDueAtMs } = claim;
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: {
        attempt,
        writerId,
        ...(workerDueAtMs === undefined ? {} : { startAttempt: attempt, ...items.marker(runId, workerDueAtMs) }),
      },
      ...defined({ remove: workerDueAtMs === undefined ? undefined : items.workerStartLeft }),
      conditions: [itemExists, notSettled, noHandle, attemptIs(claim.attempt - 1)],
    });
    return { claimed: ok, token };
  }

  // ----- starts that a worker makes -----

  /**
   * Begins the call of an attempt that a worker makes, if it is as it was read: due at `seenDueAtMs`, without settlement and
   * handle. `untilMs`: until when the worker counts as alive; `dueAtMs`: when somebody looks again.
   */
  async claimStart(
    runId: RunId,
    waitId: WaitId,
    claim: {
      readonly attempt: number;
      readonly seenDueAtMs: EpochMs;
      readonly writerId: string;
      readonly untilMs: EpochMs;
      readonly dueAtMs: EpochMs;
    },
  ): Promise<{ readonly claimed: boolean; readonly token: TokenRecord | undefined }> {
    const { attempt, seenDueAtMs, writerId, untilMs, dueAtMs } = claim;
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: { startClaim: writerId, startUntilMs: untilMs, dueAtMs },
      conditions: [notSettled, noHandle, attemptIs(attempt), workerAttemptIs(attempt), dueStill(seenDueAtMs)],
    });
    return { claimed: ok || token?.workerStart?.claim === writerId, token };
  }

  /**
   * Leaves what an attempt under `claim` came to for a turn, which alone may act upon it; due at once. The first word stands:
   * of a worker that was taken for dead it is that of whoever found it so.
   */
  async recordStart(
    runId: RunId,
    waitId: WaitId,
    start: { readonly claim: string; readonly came: NonNullable<WorkerStart['came']>; readonly dueAtMs: EpochMs },
  ): Promise<TokenRecord | undefined> {
    const { claim, came, dueAtMs } = start;
    const { token } = await this.#updateToken(runId, waitId, {
      set: { ...items.cameAttribute(came), ...items.marker(runId, dueAtMs) },
      conditions: [
        notSettled,
        noHandle,
        attemptIs(came.attempt),
        workerAttemptIs(came.attempt),
        workerClaimIs(claim),
        nothingCame,
      ],
    });
    return token;
  }

  /** Has somebody look at an attempt of a worker at another instant, if it is as it was read; `held`: why it has to wait. */
  async moveStart(
    runId: RunId,
    waitId: WaitId,
    move: { readonly seenDueAtMs: EpochMs; readonly dueAtMs: EpochMs; readonly held?: StoredError },
  ): Promise<boolean> {
    const { seenDueAtMs, dueAtMs, held } = move;
    const { ok } = await this.#updateToken(runId, waitId, {
      set: { dueAtMs, ...(held === undefined ? {} : items.heldAttribute(held)) },
      conditions: [notSettled, dueStill(seenDueAtMs)],
    });
    return ok;
  }

  /**
   * Stores the handle, which is the record of the start, if there is no settlement. `onlyWithoutHandle` is for a task that
   * was looked for: one that a reply to the start named meanwhile is the better known.
   */
  async storeHandle(
    runId: RunId,
    waitId: WaitId,
    started: {
      readonly handle: RemoteTaskHandle;
      readonly startedAtMs: EpochMs;
      readonly dueAtMs: EpochMs;
      readonly pollHintMs?: number;
      /** The task asks already. */
      readonly questions?: Pick<TokenQuestions, 'list'>;
      readonly onlyWithoutHandle?: boolean;
    },
  ): Promise<{ readonly stored: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: {
        handle: encodePayload(started.handle as unknown as JsonValue),
        startedAtMs: started.startedAtMs,
        ...defined({ pollHintMs: started.pollHintMs }),
        ...(started.questions === undefined ? {} : items.questionAttributes(started.questions, afterAllRounds)),
        ...items.marker(runId, started.dueAtMs),
      },
      conditions: [itemExists, notSettled, ...(started.onlyWithoutHandle === true ? [noHandle] : [])],
    });
    return { stored: ok, token };
  }

  /**
   * Leaves the handle of an unwanted task on the closed item: with a marker at `atMs`, so that the run's end effects cancel
   * it, or as that of an orphan. Gives the token as it is now.
   */
  async leaveHandle(
    runId: RunId,
    waitId: WaitId,
    handle: RemoteTaskHandle,
    left: { readonly atMs: EpochMs; readonly forCancel: boolean },
  ): Promise<TokenRecord | undefined> {
    const { token } = await this.#updateToken(runId, waitId, {
      set: {
        handle: encodePayload(handle as unknown as JsonValue),
        startedAtMs: left.atMs,
        ...(left.forCancel
          ? { ...items.marker(runId, left.atMs), leftAtMs: left.atMs }
          : items.orphanAttributes(runId, waitId, left.atMs)),
      },
      conditions: [itemExists, isSettled],
    });
    return token;
  }

  /**
   * Has nobody else look for the task of a closed wait until `untilMs`, when its marker brings somebody again, if its marker
   * is as it was read and no handle has come.
   */
  async claimLook(
    runId: RunId,
    waitId: WaitId,
    { seenDueAtMs, untilMs }: { readonly seenDueAtMs: EpochMs; readonly untilMs: EpochMs },
  ): Promise<boolean> {
    const { ok } = await this.#updateToken(runId, waitId, {
      set: { lookUntilMs: untilMs, dueAtMs: untilMs },
      conditions: [itemExists, isSettled, noHandle, dueStill(seenDueAtMs)],
    });
    return ok;
  }

  /** Notes what came of an operator's request to cancel the remote task of a closed wait. */
  async recordCancel(runId: RunId, waitId: WaitId, cancel: RemoteCancel): Promise<void> {
    await this.#updateToken(runId, waitId, {
      set: items.cancelAttributes(cancel),
      ...defined({ remove: cancel.kind === 'sent' ? items.listAttributes : undefined }),
      conditions: [itemExists, isSettled],
    });
  }

  /**
   * Settles the token if it exists and has no settlement: the first settler wins, on every path.
   * `onlyWithoutHandle` is for `RemoteStartAmbiguous`: a handle that came meanwhile is better news. `onlyIfDeadlineIs` is
   * for timeouts: a heartbeat may have moved the deadline. `onlyInTime` is for everything else that ends a wait: a deadline
   * that has passed by the instant of the settlement has ended it, whether anybody has seen that or not. `onlyIfWriterIs` and `onlyIfDueIs` are for the failure
   * of a long step: another worker may have taken over, or be alive. `onlyWithoutForm` is for results that were not held
   * to the schema of a question.
   */
  async settle(
    runId: RunId,
    waitId: WaitId,
    settlement: Settlement,
    options: {
      readonly onlyWithoutHandle?: boolean;
      readonly onlyIfDeadlineIs?: EpochMs;
      readonly onlyInTime?: boolean;
      readonly onlyIfWriterIs?: string;
      readonly onlyIfDueIs?: EpochMs;
      readonly onlyWithoutForm?: boolean;
    } = {},
  ): Promise<{ readonly settled: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: { ...items.settlementAttributes(settlement), ...items.marker(runId, settlement.atMs) },
      remove: items.listAttributes,
      conditions: [
        itemExists,
        notSettled,
        ...(options.onlyWithoutHandle === true ? [noHandle] : []),
        ...(options.onlyWithoutForm === true ? [noForm] : []),
        ...(options.onlyInTime === true ? [notOverdue(settlement.atMs)] : []),
        ...(options.onlyIfDeadlineIs === undefined ? [] : [deadlineIs(options.onlyIfDeadlineIs)]),
        ...(options.onlyIfWriterIs === undefined ? [] : [writerIs(options.onlyIfWriterIs)]),
        ...(options.onlyIfDueIs === undefined ? [] : [dueStill(options.onlyIfDueIs)]),
      ],
    });
    return { settled: ok || token?.settlement?.writerId === settlement.writerId, token };
  }

  /**
   * Closes a wait that nobody waits for any more, item or not: without one it leaves a tombstone, so that a late start is
   * refused. `run_ended` for those of an ending run.
   */
  async close(
    runId: RunId,
    waitId: WaitId,
    close: { readonly writerId: string; readonly atMs: EpochMs; readonly outcome: 'run_ended' | 'abandoned' },
  ): Promise<TokenRecord | undefined> {
    const settlement: Settlement = {
      writerId: close.writerId,
      atMs: close.atMs,
      by: 'end',
      outcome: { kind: close.outcome },
    };
    const { token } = await this.#updateToken(runId, waitId, {
      set: { ...items.settlementAttributes(settlement), ...items.marker(runId, close.atMs) },
      remove: items.listAttributes,
      conditions: [notSettled],
    });
    return token;
  }

  /**
   * Moves the deadline of a wait that has one, which has not passed, and is open; its marker goes along, since the head's
   * knows only the old one.
   */
  async moveDeadline(
    runId: RunId,
    waitId: WaitId,
    { deadlineAtMs, nowMs }: { readonly deadlineAtMs: EpochMs; readonly nowMs: EpochMs },
  ): Promise<{ readonly moved: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: { deadlineAtMs, ...items.marker(runId, deadlineAtMs) },
      conditions: [itemExists, notSettled, hasDeadline, notOverdue(nowMs)],
    });
    return { moved: ok, token };
  }

  /** Moves the due instant of a token ahead of a read, if it is still the one that was read and there is no settlement. */
  async claimPoll(
    runId: RunId,
    waitId: WaitId,
    claim: { readonly seenDueAtMs: EpochMs; readonly dueAtMs: EpochMs },
  ): Promise<{ readonly claimed: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: { dueAtMs: claim.dueAtMs },
      conditions: [notSettled, dueStill(claim.seenDueAtMs)],
    });
    return { claimed: ok, token };
  }

  /** Records what a read taught, within the claim: a changed hint or time to live, a failing read, sightings or their end. */
  async recordPoll(
    runId: RunId,
    waitId: WaitId,
    poll: {
      readonly claimedDueAtMs: EpochMs;
      readonly dueAtMs: EpochMs;
      readonly pollErrors: number;
      readonly pollHintMs?: number;
      readonly ttlMs?: number;
      /** Left out: there are none, or no longer. */
      readonly sightings?: TokenRecord['sightings'];
    },
  ): Promise<boolean> {
    const { ok } = await this.#updateToken(runId, waitId, {
      set: {
        dueAtMs: poll.dueAtMs,
        pollErrors: poll.pollErrors,
        ...defined({ pollHintMs: poll.pollHintMs, ttlMs: poll.ttlMs }),
        ...(poll.sightings === undefined ? {} : items.sightingsAttributes(poll.sightings)),
      },
      ...defined({ remove: poll.sightings === undefined ? items.noSightings : undefined }),
      conditions: [notSettled, dueStill(poll.claimedDueAtMs)],
    });
    return ok;
  }

  // ----- questions of remote servers -----

  /** Records what the task asks now, within the claim of the read that showed it. */
  async recordQuestions(
    runId: RunId,
    waitId: WaitId,
    asked: {
      readonly claimedDueAtMs: EpochMs;
      readonly dueAtMs: EpochMs;
      readonly questions: Pick<TokenQuestions, 'list'>;
      readonly recorded: number;
    },
  ): Promise<boolean> {
    const { ok } = await this.#updateToken(runId, waitId, {
      set: { ...items.questionAttributes(asked.questions, asked.recorded), dueAtMs: asked.dueAtMs, pollErrors: 0 },
      remove: items.noSightings,
      conditions: [notSettled, dueStill(asked.claimedDueAtMs)],
    });
    return ok;
  }

  /** Records what the server asks before it makes a task, unless it has asked as often before: then the old questions stand. */
  async recordStartQuestions(
    runId: RunId,
    waitId: WaitId,
    asked: {
      readonly attempt: number;
      readonly questions: Pick<TokenQuestions, 'list' | 'state'> & { readonly round: number };
    },
  ): Promise<TokenRecord | undefined> {
    const { round } = asked.questions;
    const { token } = await this.#updateToken(runId, waitId, {
      set: items.questionAttributes(asked.questions, round),
      conditions: [
        itemExists,
        notSettled,
        noHandle,
        attemptIs(asked.attempt),
        { kind: 'absentOrAtMost', attribute: 'questionsRound', value: round - 1 },
      ],
    });
    return token;
  }

  /** The history has the questions of the `recorded`-th recording: whoever sees them on the item need not wake the run. */
  async takeQuestions(runId: RunId, waitId: WaitId, recorded: number): Promise<void> {
    await this.#updateToken(runId, waitId, {
      set: { questionsTaken: recorded },
      conditions: [itemExists, notTakenBeyond(recorded)],
    });
  }

  // ----- long steps -----

  /**
   * Begins an attempt of a long step if the step is as it was read: due at `seenDueAtMs` and not settled. `leaseUntilMs`:
   * until when the worker counts as alive.
   */
  async claimStep(
    runId: RunId,
    waitId: WaitId,
    attempt: {
      readonly seenDueAtMs: EpochMs;
      readonly writerId: string;
      readonly strikes: number;
      readonly atMs: EpochMs;
      readonly leaseUntilMs: EpochMs;
    },
  ): Promise<boolean> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: {
        writerId: attempt.writerId,
        stepStrikes: attempt.strikes,
        stepSinceMs: attempt.atMs,
        dueAtMs: attempt.leaseUntilMs,
      },
      conditions: [notSettled, dueStill(attempt.seenDueAtMs)],
    });
    return ok || token?.writerId === attempt.writerId;
  }

  /** Says that the worker of a claim lives, and how far it has come. False: it is no longer the one, or nobody waits. */
  async beatStep(
    runId: RunId,
    waitId: WaitId,
    beat: { readonly writerId: string; readonly leaseUntilMs: EpochMs; readonly progress?: JsonValue },
  ): Promise<boolean> {
    const { ok } = await this.#updateToken(runId, waitId, {
      set: {
        dueAtMs: beat.leaseUntilMs,
        ...(beat.progress === undefined ? {} : items.progressAttribute(beat.progress)),
      },
      conditions: [notSettled, writerIs(beat.writerId)],
    });
    return ok;
  }

  /**
   * Records that the attempt of a claim failed and when the next one is due. The writer id is a new one, so that a beat
   * that is still under way does not put it off.
   */
  async recordStepFailure(
    runId: RunId,
    waitId: WaitId,
    failure: {
      readonly claim: string;
      readonly writerId: string;
      readonly step: LongStepRecord;
      readonly dueAtMs: EpochMs;
    },
  ): Promise<boolean> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: { writerId: failure.writerId, ...items.stepAttributes(failure.step), dueAtMs: failure.dueAtMs },
      conditions: [notSettled, writerIs(failure.claim)],
    });
    return ok || token?.writerId === failure.writerId;
  }

  /** Makes the next attempt of a long step due at another instant, if the step is as it was read. */
  async moveStep(
    runId: RunId,
    waitId: WaitId,
    move: { readonly seenDueAtMs: EpochMs; readonly dueAtMs: EpochMs },
  ): Promise<boolean> {
    const { ok } = await this.#updateToken(runId, waitId, {
      set: { dueAtMs: move.dueAtMs },
      conditions: [notSettled, dueStill(move.seenDueAtMs)],
    });
    return ok;
  }

  async #updateToken(
    runId: RunId,
    waitId: WaitId,
    update: Omit<Update, 'kind' | 'key'>,
  ): Promise<{ readonly ok: boolean; readonly token: TokenRecord | undefined }> {
    const result = await this.#table.write({ kind: 'update', key: items.tokenKey(runId, waitId), ...update });
    const item = result.ok ? result.item : result.old;
    return { ok: result.ok, token: item === undefined ? undefined : items.toToken(item) };
  }

  // ----- inbox -----

  /**
   * Accepts a request if the run is running; one that is known already stays accepted and changes nothing. Its `position` is
   * the count of requests that its sender has read on the head before: a transaction tells nobody which number it was given.
   */
  async putInbox(record: InboxRecord): Promise<'accepted' | 'known' | 'reused' | 'run_not_found' | 'run_ended'> {
    const result = await this.#table.transact([
      {
        kind: 'update',
        key: items.headKey(record.runId),
        increment: { inboxCount: 1 },
        conditions: [itemExists, statusIs('running')],
      },
      { kind: 'put', item: items.inboxItem({ ...record, order: ++this.#sentCount }), conditions: [itemAbsent] },
    ]);
    if (result.ok) return 'accepted';
    const [head, inbox] = result.refused;
    if (inbox !== undefined) return knownAs(inbox.old, record);
    if (head?.old === undefined) return 'run_not_found';
    return (await this.knownRequest(record)) ?? 'run_ended';
  }

  /** Whether a request of that id is there; `reused`: it has sent something else. */
  async knownRequest(record: InboxRecord): Promise<'known' | 'reused' | undefined> {
    const known = await this.#table.get(items.inboxKey(record.runId, record.inboxId), ['kind', 'sentDigest']);
    return known === undefined ? undefined : knownAs(known, record);
  }

  // ----- markers -----

  /**
   * Sets or removes the head's marker as computed from commit `seq`, unless a newer commit's stands. Clears `blocked`.
   * False, and nothing is changed, when the run has been blocked since its head was read with `blocks`: whoever blocked
   * it may have seen what this turn has not, and has left no other marker for it. `publishedSeq`: up to which commit
   * lifecycle events have been published, where some have.
   */
  async setHeadMarker(
    runId: RunId,
    { seq, dueAtMs, blocks, publishedSeq }: HeadMarker & { readonly blocks: number },
  ): Promise<boolean> {
    const result = await this.#table.write({
      kind: 'update',
      key: items.headKey(runId),
      set: {
        dueSeq: seq,
        ...(dueAtMs === undefined ? {} : items.marker(runId, dueAtMs)),
        ...published(publishedSeq),
      },
      remove: [...items.troubleAttributes, ...(dueAtMs === undefined ? items.markerAttributes : [])],
      conditions: [itemExists, markerNotNewerThan(seq), noBlockSince(blocks)],
    });
    return result.ok || result.old === undefined || items.blocksOf(result.old) <= blocks;
  }

  /** Says on the head why the run cannot go on, and when to try again. False: a newer commit's marker stands. */
  async setBlocked(
    runId: RunId,
    { seq, dueAtMs, publishedSeq, blocked }: HeadMarker & { readonly dueAtMs: EpochMs; readonly blocked: StoredError },
  ): Promise<boolean> {
    const result = await this.#table.write({
      kind: 'update',
      key: items.headKey(runId),
      set: {
        dueSeq: seq,
        blocked: encodePayload(blocked as unknown as JsonValue),
        ...items.marker(runId, dueAtMs),
        ...published(publishedSeq),
      },
      increment: { blocks: 1 },
      conditions: [itemExists, markerNotNewerThan(seq)],
    });
    return result.ok;
  }

  /** Notes that a turn of a run has thrown, and how often in a row it was in this way. */
  async noteFailedTurn(runId: RunId, failed: FailedTurns): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: items.headKey(runId),
      set: items.failedTurnAttributes(failed),
      conditions: [itemExists],
    });
  }

  /** Removes the marker of a run that has ended, if it is the one that was read. */
  async clearHeadMarker(runId: RunId, seenDueAtMs: EpochMs, publishedSeq?: number): Promise<void> {
    await this.#clearMarker(items.headKey(runId), [hasEnded, dueStill(seenDueAtMs)], published(publishedSeq));
  }

  /** Has the sweep come back to a run that has ended, for the end effects that are left. */
  async markEndedHead(runId: RunId, dueAtMs: EpochMs): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: items.headKey(runId),
      set: items.marker(runId, dueAtMs),
      conditions: [hasEnded],
    });
  }

  /** Says up to which commit lifecycle events have been published, where no marker is moved. */
  async setPublished(runId: RunId, publishedSeq: number): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: items.headKey(runId),
      set: published(publishedSeq),
      conditions: [itemExists, notPublishedBeyond(publishedSeq)],
    });
  }

  /**
   * Removes the marker of a token if it is the one that was read, and says what became of its remote task, where that had
   * not ended. `orphanedAtMs`: nobody waits for it, and it may be running. False: another marker stands, or a handle came
   * that was not seen, and somebody has to look again.
   */
  async clearTokenMarker(
    runId: RunId,
    waitId: WaitId,
    seen: { readonly dueAtMs: EpochMs; readonly hasHandle: boolean },
    { cancel, orphanedAtMs }: { readonly cancel?: RemoteCancel; readonly orphanedAtMs?: EpochMs } = {},
  ): Promise<boolean> {
    // A handle that is left in the very millisecond of the marker before changes no due instant.
    const conditions = [dueStill(seen.dueAtMs), seen.hasHandle ? hasHandle : noHandle];
    return this.#clearMarker(items.tokenKey(runId, waitId), conditions, {
      ...(cancel === undefined ? {} : items.cancelAttributes(cancel)),
      ...(orphanedAtMs === undefined ? {} : items.orphanAttributes(runId, waitId, orphanedAtMs)),
    });
  }

  async clearInboxMarker(runId: RunId, inboxId: string, seenDueAtMs: EpochMs): Promise<void> {
    await this.#clearMarker(items.inboxKey(runId, inboxId), [dueStill(seenDueAtMs)]);
  }

  /** False: a marker stands. */
  async #clearMarker(key: Key, conditions: readonly Condition[], set: Update['set'] = {}): Promise<boolean> {
    const result = await this.#table.write({
      kind: 'update',
      key,
      ...defined({ set: Object.keys(set).length === 0 ? undefined : set }),
      remove: items.markerAttributes,
      conditions,
    });
    return result.ok || result.old?.['dueAtMs'] === undefined;
  }

  // ----- schedules -----

  async readSchedule(name: string): Promise<ScheduleState> {
    const item = await this.#table.get(items.scheduleKey(name));
    return item === undefined ? { revision: 0 } : items.toSchedule(item);
  }

  /**
   * Puts a state that was made from revision `revision`; undefined if somebody else has put one since, also when that was
   * an earlier attempt of this very write. Gives the state with its own revision.
   */
  async saveSchedule(name: string, state: ScheduleState): Promise<ScheduleState | undefined> {
    const next = { ...state, revision: state.revision + 1 };
    const { ok } = await this.#table.write({
      kind: 'put',
      item: items.scheduleItem(name, next),
      conditions: [state.revision === 0 ? neverSaved : revisionIs(state.revision)],
    });
    return ok ? next : undefined;
  }

  // ----- indexes: hints, possibly stale -----

  /** In how many partitions of the due index there may be markers, of any process: `dueShards` or more. */
  async readDueShards(): Promise<number> {
    return this.#table.readDueShards();
  }

  /** What is due by `untilMs` in one shard, earliest first. */
  async listDue(shard: number, untilMs: EpochMs, limit: number, cursor?: string): Promise<ListPage<DueEntry>> {
    const page = await this.#table.queryIndex({
      index: 'due',
      partition: String(shard),
      until: untilMs,
      order: 'ascending',
      limit,
      ...defined({ cursor }),
    });
    return { rows: page.items.map(items.toDueEntry), ...defined({ cursor: page.cursor }) };
  }

  /** Questions for people, oldest first. */
  async listInputs(limit: number, cursor?: string): Promise<ListPage<WaitRow>> {
    return this.#listWaits(items.inputsPartition, limit, cursor);
  }

  /** Remote tasks that nobody waits for and that may be running, the first to be left first. */
  async listOrphans(limit: number, cursor?: string): Promise<ListPage<WaitRow>> {
    return this.#listWaits(items.orphansPartition, limit, cursor);
  }

  async #listWaits(partition: string, limit: number, cursor: string | undefined): Promise<ListPage<WaitRow>> {
    const page = await this.#table.queryIndex({
      index: 'list',
      partition,
      order: 'ascending',
      limit,
      ...defined({ cursor }),
    });
    return { rows: page.items.map(items.toWaitRow), ...defined({ cursor: page.cursor }) };
  }

  /** Runs of one status, newest first, those that come after the run `before`. */
  async listRuns(status: RunStatus, limit: number, before?: RunPosition): Promise<ListPage<RunSummary>> {
    const page = await this.#table.queryIndex({
      index: 'list',
      partition: status,
      order: 'descending',
      limit,
      ...defined({ until: before === undefined ? undefined : items.listSortBelow(before) }),
    });
    return { rows: page.items.map(items.toSummary), ...defined({ cursor: page.cursor }) };
  }
}

function toRecords(found: readonly Item[]): RunRecords | undefined {
  let head: RunHead | undefined;
  const commits: Commit[] = [];
  const tokens: TokenRecord[] = [];
  const inbox: InboxRecord[] = [];
  for (const item of found) {
    if (item.sk === items.headSk) head = items.toHead(item);
    else if (item.sk.startsWith(items.commitPrefix)) commits.push(items.toCommit(item));
    else if (item.sk.startsWith(items.tokenPrefix)) tokens.push(items.toToken(item));
    else if (item.sk.startsWith(items.inboxPrefix)) inbox.push(items.toInbox(item));
  }
  return head === undefined ? undefined : { head, commits, tokens, inbox };
}

/** What was read, or undefined where this deployment cannot read it. */
async function orUnreadable<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return undefined;
  }
}

function published(publishedSeq: number | undefined): Record<string, number> {
  return publishedSeq === undefined ? {} : { publishedSeq };
}

/** A request that is there already. Items of before say nothing of what was sent. */
function knownAs(old: Item | undefined, { sentDigest }: InboxRecord): 'known' | 'reused' {
  const known = old?.['sentDigest'];
  return known === undefined || sentDigest === undefined || known === sentDigest ? 'known' : 'reused';
}

function withoutMarker(record: InboxRecord): InboxRecord {
  const { dueAtMs, ...rest } = record;
  return dueAtMs === undefined ? record : rest;
}

function commitItem(runId: RunId, commit: NewCommit): Item {
  return {
    ...items.commitKey(runId, commit.seq),
    writerId: commit.writerId,
    events: encodePayload(encodeEvents(commit.events)),
  };
}

/** The refused item is our own: the acknowledgement was lost and the SDK sent the same bytes again. */
function wroteIt(old: Item | undefined, commit: NewCommit): boolean {
  return old?.['writerId'] === commit.writerId;
}

function toTokenOr(old: Item | undefined, otherwise: TokenRecord): TokenRecord {
  return old === undefined ? otherwise : items.toToken(old);
}
