import type { StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import { encodeEvents } from '../history/codec.js';
import type { Commit, HistoryEvent, RemoteTaskHandle, RunOutcome } from '../history/event.js';
import * as items from './items.js';
import { encodePayload } from './payload.js';
import type {
  DueEntry,
  InboxRecord,
  RunHead,
  RunName,
  RunRecords,
  RunStatus,
  RunSummary,
  ScheduleTick,
  Settlement,
  TokenRecord,
} from './records.js';
import type { Condition, Item, Table, Update } from './table.js';

// The conditions of the protocol, each with its name.
const itemExists: Condition = { kind: 'itemExists' };
const itemAbsent: Condition = { kind: 'itemAbsent' };
const notSettled: Condition = { kind: 'absent', attribute: 'settledAtMs' };
const isSettled: Condition = { kind: 'present', attribute: 'settledAtMs' };
const hasDeadline: Condition = { kind: 'present', attribute: 'deadlineAtMs' };
const noHandle: Condition = { kind: 'absent', attribute: 'handle' };
const attemptIs = (attempt: number): Condition => ({ kind: 'equals', attribute: 'attempt', value: attempt });
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
const dueStill = (dueAtMs: EpochMs): Condition => ({ kind: 'equals', attribute: 'dueAtMs', value: dueAtMs });
const statusIs = (status: RunStatus): Condition => ({ kind: 'equals', attribute: 'status', value: status });
const inboxCountIs = (count: number): Condition => ({ kind: 'equals', attribute: 'inboxCount', value: count });
/** The marker on the head was not computed from a newer commit. */
const markerNotNewerThan = (seq: number): Condition => ({ kind: 'absentOrAtMost', attribute: 'dueSeq', value: seq });

/** A commit that a turn wants to append. */
export interface NewCommit {
  readonly seq: number;
  /** Fresh for each distinct content: it tells a lost acknowledgement of our own write from another turn's commit. */
  readonly writerId: string;
  readonly events: readonly HistoryEvent[];
}

/** What the head must still be for a commit that fixes the outcome: nothing was accepted that this turn has not seen. */
export type HeadAsSeen = { readonly status: 'running'; readonly inboxCount: number } | { readonly status: 'ending' };

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  readonly cursor?: string;
}

/**
 * The protocol's reads and writes in the words of the domain. Every write that decides anything is conditional, and its
 * condition is written once, here, as data; a `Table` only obeys it. No method reads before it writes.
 * Each may throw `STORE_UNAVAILABLE` (nothing applied) or `STORE_RESULT_UNKNOWN` (drop memory, read again).
 */
export class RunStore {
  readonly #table: Table;
  /** Requests that this process has sent to inboxes. */
  #sentCount = 0;

  constructor(table: Table) {
    this.#table = table;
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

  /** The head and a first signal, both or neither. False: the run is there already, and nothing was written. */
  async createRunWithSignal(head: RunHead, writerId: string, signal: InboxRecord): Promise<boolean> {
    const result = await this.#table.transact([
      { kind: 'put', item: items.headItem({ ...head, inboxCount: 1 }, writerId), conditions: [itemAbsent] },
      { kind: 'put', item: items.inboxItem(signal), conditions: [itemAbsent] },
    ]);
    return result.ok || result.refused[0]?.old?.['writerId'] === writerId;
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

  /** A signal for a run whose head is put next, with an `inboxCount` that counts it and a marker that covers it. */
  async seedInbox(record: InboxRecord): Promise<void> {
    await this.#table.write({ kind: 'put', item: items.inboxItem(withoutMarker(record)), conditions: [itemAbsent] });
  }

  // ----- reading -----

  /** One consistent query of the partition, paged; not a snapshot. Undefined for an unknown run. */
  async readRun(runId: RunId): Promise<RunRecords | undefined> {
    const found = await this.#table.queryPartition(items.partitionOf(runId));
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

  async readHead(runId: RunId): Promise<RunHead | undefined> {
    const item = await this.#table.get(items.headKey(runId));
    return item === undefined ? undefined : items.toHead(item);
  }

  async readToken(runId: RunId, waitId: WaitId): Promise<TokenRecord | undefined> {
    const item = await this.#table.get(items.tokenKey(runId, waitId));
    return item === undefined ? undefined : items.toToken(item);
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

  /** Appends a commit with `RunEnding` and closes the inbox, if no signal, cancel or terminate came meanwhile. */
  async commitEnding(runId: RunId, commit: NewCommit, inboxCount: number): Promise<boolean> {
    return this.#commitWithHead(runId, commit, {
      set: { status: 'ending', dueSeq: commit.seq },
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
        ...(end.outcome.status === 'continued' ? { nextRunId: end.outcome.nextRunId } : {}),
        endedAtMs: end.endedAtMs,
        dueSeq: commit.seq,
        ...items.listKeys(run.runId, end.outcome.status, run.createdAtMs),
        ...(end.markAtMs === undefined ? {} : items.marker(run.runId, end.markAtMs)),
      },
      remove: ['blocked'],
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

  /** Claims start attempt `attempt` if the item stands at the one before, without settlement and handle. */
  async claimStartAttempt(
    runId: RunId,
    waitId: WaitId,
    claim: { readonly attempt: number; readonly writerId: string },
  ): Promise<{ readonly claimed: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: { attempt: claim.attempt, writerId: claim.writerId },
      conditions: [itemExists, notSettled, noHandle, attemptIs(claim.attempt - 1)],
    });
    return { claimed: ok, token };
  }

  /** Stores the handle, which is the record of the start, if there is no settlement. */
  async storeHandle(
    runId: RunId,
    waitId: WaitId,
    started: {
      readonly handle: RemoteTaskHandle;
      readonly startedAtMs: EpochMs;
      readonly dueAtMs: EpochMs;
      readonly pollHintMs?: number;
    },
  ): Promise<{ readonly stored: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: {
        handle: encodePayload(started.handle as unknown as JsonValue),
        startedAtMs: started.startedAtMs,
        ...(started.pollHintMs === undefined ? {} : { pollHintMs: started.pollHintMs }),
        ...items.marker(runId, started.dueAtMs),
      },
      conditions: [itemExists, notSettled],
    });
    return { stored: ok, token };
  }

  /** Leaves the handle of an unwanted task on the closed item, with a marker: the run's end effects cancel it. */
  async leaveForCancel(runId: RunId, waitId: WaitId, handle: RemoteTaskHandle, atMs: EpochMs): Promise<void> {
    await this.#updateToken(runId, waitId, {
      set: { handle: encodePayload(handle as unknown as JsonValue), ...items.marker(runId, atMs) },
      conditions: [itemExists, isSettled],
    });
  }

  /**
   * Settles the token if it exists and has no settlement: the first settler wins, on every path.
   * `onlyWithoutHandle` is for `RemoteStartAmbiguous`: a handle that came meanwhile is better news. `onlyIfDeadlineIs` is
   * for timeouts: a heartbeat may have moved the deadline.
   */
  async settle(
    runId: RunId,
    waitId: WaitId,
    settlement: Settlement,
    options: { readonly onlyWithoutHandle?: boolean; readonly onlyIfDeadlineIs?: EpochMs } = {},
  ): Promise<{ readonly settled: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: { ...items.settlementAttributes(settlement), ...items.marker(runId, settlement.atMs) },
      conditions: [
        itemExists,
        notSettled,
        ...(options.onlyWithoutHandle === true ? [noHandle] : []),
        ...(options.onlyIfDeadlineIs === undefined ? [] : [deadlineIs(options.onlyIfDeadlineIs)]),
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
      conditions: [notSettled],
    });
    return token;
  }

  /** Moves the deadline of a wait that has one and is open; its marker goes along, since the head's knows only the old one. */
  async moveDeadline(
    runId: RunId,
    waitId: WaitId,
    deadlineAtMs: EpochMs,
  ): Promise<{ readonly moved: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await this.#updateToken(runId, waitId, {
      set: { deadlineAtMs, ...items.marker(runId, deadlineAtMs) },
      conditions: [itemExists, notSettled, hasDeadline],
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

  /** Records what a read taught about the next one, within the claim: a changed hint, or a failing read. */
  async recordPoll(
    runId: RunId,
    waitId: WaitId,
    poll: {
      readonly claimedDueAtMs: EpochMs;
      readonly dueAtMs: EpochMs;
      readonly pollErrors: number;
      readonly pollHintMs?: number;
    },
  ): Promise<boolean> {
    const { ok } = await this.#updateToken(runId, waitId, {
      set: {
        dueAtMs: poll.dueAtMs,
        pollErrors: poll.pollErrors,
        ...(poll.pollHintMs === undefined ? {} : { pollHintMs: poll.pollHintMs }),
      },
      conditions: [notSettled, dueStill(poll.claimedDueAtMs)],
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

  /** Accepts a request if the run is running; one that is known already stays accepted and changes nothing. */
  async putInbox(record: InboxRecord): Promise<'accepted' | 'known' | 'run_not_found' | 'run_ended'> {
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
    if (inbox !== undefined) return 'known';
    if (head?.old !== undefined)
      return (await this.#table.get(items.inboxKey(record.runId, record.inboxId))) === undefined
        ? 'run_ended'
        : 'known';
    return 'run_not_found';
  }

  // ----- markers -----

  /** Sets or removes the head's marker as computed from commit `seq`, unless a newer commit's stands. Clears `blocked`. */
  async setHeadMarker(runId: RunId, seq: number, dueAtMs: EpochMs | undefined): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: items.headKey(runId),
      set: { dueSeq: seq, ...(dueAtMs === undefined ? {} : items.marker(runId, dueAtMs)) },
      remove: ['blocked', ...(dueAtMs === undefined ? items.markerAttributes : [])],
      conditions: [itemExists, markerNotNewerThan(seq)],
    });
  }

  /** Says on the head why the run cannot go on, and when to try again. False: a newer commit's marker stands. */
  async setBlocked(runId: RunId, seq: number, blocked: StoredError, dueAtMs: EpochMs): Promise<boolean> {
    const result = await this.#table.write({
      kind: 'update',
      key: items.headKey(runId),
      set: { dueSeq: seq, blocked: encodePayload(blocked as unknown as JsonValue), ...items.marker(runId, dueAtMs) },
      conditions: [itemExists, markerNotNewerThan(seq)],
    });
    return result.ok;
  }

  async clearHeadMarker(runId: RunId): Promise<void> {
    await this.#clearMarker(items.headKey(runId));
  }

  async clearTokenMarker(runId: RunId, waitId: WaitId): Promise<void> {
    await this.#clearMarker(items.tokenKey(runId, waitId));
  }

  async clearInboxMarker(runId: RunId, inboxId: string): Promise<void> {
    await this.#clearMarker(items.inboxKey(runId, inboxId));
  }

  async #clearMarker(key: { pk: string; sk: string }): Promise<void> {
    await this.#table.write({ kind: 'update', key, remove: items.markerAttributes, conditions: [itemExists] });
  }

  // ----- schedules -----

  async readSchedule(name: string): Promise<ScheduleTick | undefined> {
    const item = await this.#table.get(items.scheduleKey(name));
    return item === undefined ? undefined : items.toTick(item);
  }

  /** Notes what was done at a tick, unless a later one is noted. */
  async recordTick(name: string, tick: ScheduleTick): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: items.scheduleKey(name),
      set: { tickAtMs: tick.tickAtMs, ...(tick.runId === undefined ? {} : { runId: tick.runId }) },
      conditions: [{ kind: 'absentOrAtMost', attribute: 'tickAtMs', value: tick.tickAtMs }],
    });
  }

  // ----- indexes: hints, possibly stale -----

  /** What is due by `untilMs` in one shard, earliest first. */
  async listDue(shard: number, untilMs: EpochMs, limit: number, cursor?: string): Promise<ListPage<DueEntry>> {
    const page = await this.#table.queryIndex({
      index: 'due',
      partition: String(shard),
      until: untilMs,
      order: 'ascending',
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    return { rows: page.items.map(items.toDueEntry), ...(page.cursor === undefined ? {} : { cursor: page.cursor }) };
  }

  /** Runs of one status, newest first. */
  async listRuns(status: RunStatus, limit: number, cursor?: string): Promise<ListPage<RunSummary>> {
    const page = await this.#table.queryIndex({
      index: 'list',
      partition: status,
      order: 'descending',
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    return { rows: page.items.map(items.toSummary), ...(page.cursor === undefined ? {} : { cursor: page.cursor }) };
  }
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
