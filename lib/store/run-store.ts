// For the former methods alone: goes with them.
import type { RunId, WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import type { Settlement } from '../history/records.js';
import type { SettleGuard } from './parts/tokens.js';
// Up to here.
import { dueShardsMin } from '../base/limits.js';
import { HeadMarkers } from './parts/head-markers.js';
import { Heads } from './parts/heads.js';
import { Inbox } from './parts/inbox.js';
import { Lists } from './parts/lists.js';
import { Log } from './parts/log.js';
import { LongSteps } from './parts/long-steps.js';
import { Names } from './parts/names.js';
import { Polls } from './parts/polls.js';
import { Questions } from './parts/questions.js';
import { Runs } from './parts/runs.js';
import { Schedules } from './parts/schedules.js';
import { ServerStates } from './parts/server-states.js';
import { Starts } from './parts/starts.js';
import { Tokens } from './parts/tokens.js';
import { UnwantedTasks } from './parts/unwanted-tasks.js';
import { WorkerStarts } from './parts/worker-starts.js';
import { ShardedTable } from './sharded-table.js';
import type { Table } from './table.js';

export type { ListPage } from './parts/lists.js';
export type { SettleGuard } from './parts/tokens.js';

/**
 * The protocol's reads and writes in the words of the domain, by what they are about. Every write that decides anything is
 * conditional: the conditions are in `conditions.ts`, and which of them a write has is beside it. No method reads before it
 * writes. Each may throw `STORE_UNAVAILABLE` (nothing applied) or `STORE_RESULT_UNKNOWN` (drop memory, read again).
 */
export class RunStore {
  /** All that a run has. */
  readonly runs: Runs;
  /** How runs come to be, and what their heads say. */
  readonly heads: Heads;
  /** When heads must next be looked at, and what holds runs up. */
  readonly headMarkers: HeadMarkers;
  /** The ids that callers give to runs. */
  readonly names: Names;
  /** The commits of runs. */
  readonly log: Log;
  /** Requests to runs. */
  readonly inbox: Inbox;
  /** Waits for something outside, and their settlements. */
  readonly tokens: Tokens;
  /** Start attempts of remote tasks. */
  readonly starts: Starts;
  /** Start attempts that a worker makes. */
  readonly workerStarts: WorkerStarts;
  /** Reads of remote tasks. */
  readonly polls: Polls;
  /** Questions of remote servers. */
  readonly questions: Questions;
  /** Remote tasks of closed waits. */
  readonly unwantedTasks: UnwantedTasks;
  /** Attempts of long steps. */
  readonly longSteps: LongSteps;
  /** How schedules stand. */
  readonly schedules: Schedules;
  /** The two indexes. */
  readonly lists: Lists;
  /** Word among the workers of how the remote servers stand. */
  readonly servers: ServerStates;
  /** Partitions of the due index into which this process puts markers. */
  readonly dueShards: number;

  constructor(table: Table, { dueShards = dueShardsMin }: { readonly dueShards?: number } = {}) {
    const sharded = new ShardedTable(table, dueShards);
    this.runs = new Runs(sharded);
    this.heads = new Heads(sharded);
    this.headMarkers = new HeadMarkers(sharded);
    this.names = new Names(sharded);
    this.log = new Log(sharded);
    this.inbox = new Inbox(sharded);
    this.tokens = new Tokens(sharded);
    this.starts = new Starts(sharded);
    this.workerStarts = new WorkerStarts(sharded);
    this.polls = new Polls(sharded);
    this.questions = new Questions(sharded);
    this.unwantedTasks = new UnwantedTasks(sharded);
    this.longSteps = new LongSteps(sharded);
    this.schedules = new Schedules(sharded);
    this.lists = new Lists(sharded);
    this.servers = new ServerStates(table);
    this.dueShards = dueShards;
  }

  // The names of before, until their callers have moved to the parts: nothing new belongs below this line.

  createRun(...given: Parameters<Heads['create']>): ReturnType<Heads['create']> {
    return this.heads.create(...given);
  }
  createRunWithSignal(...given: Parameters<Heads['createWithSignal']>): ReturnType<Heads['createWithSignal']> {
    return this.heads.createWithSignal(...given);
  }
  readHead(...given: Parameters<Heads['read']>): ReturnType<Heads['read']> {
    return this.heads.read(...given);
  }
  glanceAtRun(...given: Parameters<Heads['glance']>): ReturnType<Heads['glance']> {
    return this.heads.glance(...given);
  }
  noteLaterRun(...given: Parameters<Heads['noteLaterRun']>): ReturnType<Heads['noteLaterRun']> {
    return this.heads.noteLaterRun(...given);
  }
  readRunName(...given: Parameters<Names['read']>): ReturnType<Names['read']> {
    return this.names.read(...given);
  }
  createNamedRun(...given: Parameters<Names['createRun']>): ReturnType<Names['createRun']> {
    return this.names.createRun(...given);
  }
  readRun(...given: Parameters<Runs['read']>): ReturnType<Runs['read']> {
    return this.runs.read(...given);
  }
  readRunAfter(...given: Parameters<Runs['readAfter']>): ReturnType<Runs['readAfter']> {
    return this.runs.readAfter(...given);
  }
  readWhatCanBe(...given: Parameters<Runs['readWhatCanBe']>): ReturnType<Runs['readWhatCanBe']> {
    return this.runs.readWhatCanBe(...given);
  }
  commit(...given: Parameters<Log['commit']>): ReturnType<Log['commit']> {
    return this.log.commit(...given);
  }
  commitEnding(...given: Parameters<Log['commitEnding']>): ReturnType<Log['commitEnding']> {
    return this.log.commitEnding(...given);
  }
  commitEnd(...given: Parameters<Log['commitEnd']>): ReturnType<Log['commitEnd']> {
    return this.log.commitEnd(...given);
  }
  readLastSeq(...given: Parameters<Log['readLastSeq']>): ReturnType<Log['readLastSeq']> {
    return this.log.readLastSeq(...given);
  }
  setHeadMarker(...given: Parameters<HeadMarkers['set']>): ReturnType<HeadMarkers['set']> {
    return this.headMarkers.set(...given);
  }
  setBlocked(...given: Parameters<HeadMarkers['block']>): ReturnType<HeadMarkers['block']> {
    return this.headMarkers.block(...given);
  }
  noteFailedTurn(...given: Parameters<HeadMarkers['noteFailedTurn']>): ReturnType<HeadMarkers['noteFailedTurn']> {
    return this.headMarkers.noteFailedTurn(...given);
  }
  clearHeadMarker(...given: Parameters<HeadMarkers['clear']>): ReturnType<HeadMarkers['clear']> {
    return this.headMarkers.clear(...given);
  }
  markEndedHead(...given: Parameters<HeadMarkers['markEnded']>): ReturnType<HeadMarkers['markEnded']> {
    return this.headMarkers.markEnded(...given);
  }
  setPublished(...given: Parameters<HeadMarkers['setPublished']>): ReturnType<HeadMarkers['setPublished']> {
    return this.headMarkers.setPublished(...given);
  }
  readToken(...given: Parameters<Tokens['read']>): ReturnType<Tokens['read']> {
    return this.tokens.read(...given);
  }
  readTokens(...given: Parameters<Tokens['readAll']>): ReturnType<Tokens['readAll']> {
    return this.tokens.readAll(...given);
  }
  putToken(...given: Parameters<Tokens['put']>): ReturnType<Tokens['put']> {
    return this.tokens.put(...given);
  }
  settle(
    runId: RunId,
    waitId: WaitId,
    settlement: Settlement,
    options: FormerOptions = {},
  ): ReturnType<Tokens['settle']> {
    return this.tokens.settle(runId, waitId, settlement, guardOf(options));
  }
  close(...given: Parameters<Tokens['close']>): ReturnType<Tokens['close']> {
    return this.tokens.close(...given);
  }
  moveDeadline(...given: Parameters<Tokens['moveDeadline']>): ReturnType<Tokens['moveDeadline']> {
    return this.tokens.moveDeadline(...given);
  }
  clearTokenMarker(...given: Parameters<Tokens['clearMarker']>): ReturnType<Tokens['clearMarker']> {
    return this.tokens.clearMarker(...given);
  }
  claimStartAttempt(...given: Parameters<Starts['claim']>): ReturnType<Starts['claim']> {
    return this.starts.claim(...given);
  }
  storeHandle(...given: Parameters<Starts['storeHandle']>): ReturnType<Starts['storeHandle']> {
    return this.starts.storeHandle(...given);
  }
  claimStart(...given: Parameters<WorkerStarts['claim']>): ReturnType<WorkerStarts['claim']> {
    return this.workerStarts.claim(...given);
  }
  recordStart(...given: Parameters<WorkerStarts['record']>): ReturnType<WorkerStarts['record']> {
    return this.workerStarts.record(...given);
  }
  moveStart(...given: Parameters<WorkerStarts['move']>): ReturnType<WorkerStarts['move']> {
    return this.workerStarts.move(...given);
  }
  leaveHandle(...given: Parameters<UnwantedTasks['leaveHandle']>): ReturnType<UnwantedTasks['leaveHandle']> {
    return this.unwantedTasks.leaveHandle(...given);
  }
  claimLook(...given: Parameters<UnwantedTasks['claimLook']>): ReturnType<UnwantedTasks['claimLook']> {
    return this.unwantedTasks.claimLook(...given);
  }
  recordCancel(...given: Parameters<UnwantedTasks['recordCancel']>): ReturnType<UnwantedTasks['recordCancel']> {
    return this.unwantedTasks.recordCancel(...given);
  }
  claimPoll(...given: Parameters<Polls['claim']>): ReturnType<Polls['claim']> {
    return this.polls.claim(...given);
  }
  recordPoll(...given: Parameters<Polls['record']>): ReturnType<Polls['record']> {
    return this.polls.record(...given);
  }
  recordQuestions(...given: Parameters<Questions['record']>): ReturnType<Questions['record']> {
    return this.questions.record(...given);
  }
  recordStartQuestions(...given: Parameters<Questions['recordOfStart']>): ReturnType<Questions['recordOfStart']> {
    return this.questions.recordOfStart(...given);
  }
  takeQuestions(...given: Parameters<Questions['take']>): ReturnType<Questions['take']> {
    return this.questions.take(...given);
  }
  claimStep(...given: Parameters<LongSteps['claim']>): ReturnType<LongSteps['claim']> {
    return this.longSteps.claim(...given);
  }
  beatStep(...given: Parameters<LongSteps['beat']>): ReturnType<LongSteps['beat']> {
    return this.longSteps.beat(...given);
  }
  recordStepFailure(...given: Parameters<LongSteps['recordFailure']>): ReturnType<LongSteps['recordFailure']> {
    return this.longSteps.recordFailure(...given);
  }
  moveStep(...given: Parameters<LongSteps['move']>): ReturnType<LongSteps['move']> {
    return this.longSteps.move(...given);
  }
  putInbox(...given: Parameters<Inbox['put']>): ReturnType<Inbox['put']> {
    return this.inbox.put(...given);
  }
  knownRequest(...given: Parameters<Inbox['known']>): ReturnType<Inbox['known']> {
    return this.inbox.known(...given);
  }
  seedInbox(...given: Parameters<Inbox['seed']>): ReturnType<Inbox['seed']> {
    return this.inbox.seed(...given);
  }
  isInInbox(...given: Parameters<Inbox['has']>): ReturnType<Inbox['has']> {
    return this.inbox.has(...given);
  }
  readInbox(...given: Parameters<Inbox['readAll']>): ReturnType<Inbox['readAll']> {
    return this.inbox.readAll(...given);
  }
  readInboxKinds(...given: Parameters<Inbox['readKinds']>): ReturnType<Inbox['readKinds']> {
    return this.inbox.readKinds(...given);
  }
  clearInboxMarker(...given: Parameters<Inbox['clearMarker']>): ReturnType<Inbox['clearMarker']> {
    return this.inbox.clearMarker(...given);
  }
  readSchedule(...given: Parameters<Schedules['read']>): ReturnType<Schedules['read']> {
    return this.schedules.read(...given);
  }
  saveSchedule(...given: Parameters<Schedules['save']>): ReturnType<Schedules['save']> {
    return this.schedules.save(...given);
  }
  readDueShards(...given: Parameters<Lists['readDueShards']>): ReturnType<Lists['readDueShards']> {
    return this.lists.readDueShards(...given);
  }
  listDue(...given: Parameters<Lists['due']>): ReturnType<Lists['due']> {
    return this.lists.due(...given);
  }
  listInputs(...given: Parameters<Lists['inputs']>): ReturnType<Lists['inputs']> {
    return this.lists.inputs(...given);
  }
  listOrphans(...given: Parameters<Lists['orphans']>): ReturnType<Lists['orphans']> {
    return this.lists.orphans(...given);
  }
  listRuns(...given: Parameters<Lists['runs']>): ReturnType<Lists['runs']> {
    return this.lists.runs(...given);
  }
}

interface FormerOptions {
  readonly onlyWithoutHandle?: boolean;
  readonly onlyIfDeadlineIs?: EpochMs;
  readonly onlyInTime?: boolean;
  readonly onlyIfWriterIs?: string;
  readonly onlyIfDueIs?: EpochMs;
  readonly onlyWithoutForm?: boolean;
}

/** Each caller sets one of the options, or `onlyInTime` with one of them. */
function guardOf(options: FormerOptions): SettleGuard | undefined {
  const { onlyInTime, onlyWithoutHandle, onlyWithoutForm, onlyIfDeadlineIs, onlyIfWriterIs, onlyIfDueIs } = options;
  if (onlyInTime === true)
    return {
      kind: 'inTime',
      unless: onlyWithoutHandle === true ? 'handle' : onlyWithoutForm === true ? 'form' : undefined,
    };
  if (onlyIfDeadlineIs !== undefined) return { kind: 'deadlineIs', deadlineAtMs: onlyIfDeadlineIs };
  if (onlyIfWriterIs !== undefined) return { kind: 'writerIs', writerId: onlyIfWriterIs };
  return onlyIfDueIs === undefined ? undefined : { kind: 'dueIs', dueAtMs: onlyIfDueIs };
}
