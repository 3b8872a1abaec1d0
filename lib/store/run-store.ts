import { lazy } from '../base/lazy.js';
import { dueShardsMin } from '../base/limits.js';
import type { CallerParts } from './parts/caller-parts.js';
import type { PushConfigItems } from './parts/push-configs.js';
import type { ServedTasks } from './parts/served-tasks.js';
import { HeadMarkers } from './parts/head-markers.js';
import { Heads } from './parts/heads.js';
import { Inbox } from './parts/inbox.js';
import { Lanes } from './parts/lanes.js';
import type { LimitedStarts } from './parts/limited-starts.js';
import { Lists } from './parts/lists.js';
import { Log } from './parts/log.js';
import { LongSteps } from './parts/long-steps.js';
import { Names } from './parts/names.js';
import { QuestionNotices } from './parts/notices.js';
import { Polls } from './parts/polls.js';
import { Proofs } from './parts/proofs.js';
import { Questions } from './parts/questions.js';
import { Runs } from './parts/runs.js';
import { Schedules } from './parts/schedules.js';
import { ServerStates } from './parts/server-states.js';
import { Starts } from './parts/starts.js';
import { Tokens } from './parts/tokens.js';
import { UnwantedTasks } from './parts/unwanted-tasks.js';
import { WorkerStarts } from './parts/worker-starts.js';
import { streamsPartition } from './items/keys.js';
import type { Slots } from './parts/slots.js';
import { ShardedTable } from './sharded-table.js';
import type { Table } from './table.js';

export { contextDigest } from './items/indexes.js';
export type { TaskRow } from './items/head.js';
export type { RestingTask } from './parts/head-markers.js';
export type { ListPage } from './parts/lists.js';
export type { Cap } from './parts/tenant-counts.js';
export type { KeyedStart, PointerAsRead, StartPlace } from './parts/limited-starts.js';
export type { Slots } from './parts/slots.js';
export type { SettleGuard, Settling } from './parts/tokens.js';

/**
 * The protocol's reads and writes in terms of the domain, grouped by subject. Every write that decides anything is
 * conditional: the conditions are in `conditions.ts`, and each write lists its own. No method reads before it writes.
 * Each may throw `STORE_UNAVAILABLE` (nothing applied) or `STORE_RESULT_UNKNOWN` (drop memory, read again).
 */
export class RunStore {
  /** Everything that a run has. */
  readonly runs: Runs;
  /** Creation of runs, and what their heads say. */
  readonly heads: Heads;
  /** When heads must next be looked at, and what holds runs up. */
  readonly headMarkers: HeadMarkers;
  /** Ids that callers give to runs. */
  readonly names: Names;
  /** Credentials of callers, and what tenants ask for; loaded at the first call. */
  readonly callers: () => Promise<CallerParts>;
  /** Writes of callers to served tasks; loaded at the first call. */
  readonly servedTasks: () => Promise<ServedTasks>;
  /** Slots of streams to callers of served tasks; loaded at the first call. */
  readonly streamSlots: () => Promise<Slots>;
  /** Where news of served tasks are pushed; loaded at the first call. */
  readonly pushConfigs: () => Promise<PushConfigItems>;
  /** Starts of workflows that limit them; loaded at the first call. */
  readonly limitedStarts: () => Promise<LimitedStarts>;
  /** Runs that wait for one another. */
  readonly lanes: Lanes;
  /** Commits of runs. */
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
  /** Proofs of senders that have been used. */
  readonly proofs: Proofs;
  /** Notices to people about questions. */
  readonly notices: QuestionNotices;
  /** Questions of remote servers. */
  readonly questions: Questions;
  /** Remote tasks of closed waits. */
  readonly unwantedTasks: UnwantedTasks;
  /** Attempts of long steps. */
  readonly longSteps: LongSteps;
  /** States of schedules. */
  readonly schedules: Schedules;
  /** The indexes. */
  readonly lists: Lists;
  /** Knowledge that the workers share about the remote servers. */
  readonly servers: ServerStates;
  /** Partitions of the due index into which this process puts markers. */
  readonly dueShards: number;

  constructor(table: Table, { dueShards = dueShardsMin }: { readonly dueShards?: number } = {}) {
    const sharded = new ShardedTable(table, dueShards);
    this.runs = new Runs(sharded);
    this.heads = new Heads(sharded);
    this.headMarkers = new HeadMarkers(sharded);
    this.names = new Names(sharded);
    this.callers = lazy(async () => new (await import('./parts/caller-parts.js')).CallerParts(table));
    this.servedTasks = lazy(async () => new (await import('./parts/served-tasks.js')).ServedTasks(sharded));
    this.streamSlots = lazy(async () => new (await import('./parts/slots.js')).Slots(table, streamsPartition));
    this.pushConfigs = lazy(async () => new (await import('./parts/push-configs.js')).PushConfigItems(sharded));
    this.limitedStarts = lazy(async () => new (await import('./parts/limited-starts.js')).LimitedStarts(sharded));
    this.lanes = new Lanes(sharded);
    this.log = new Log(sharded);
    this.inbox = new Inbox(sharded);
    this.tokens = new Tokens(sharded);
    this.starts = new Starts(sharded);
    this.workerStarts = new WorkerStarts(sharded);
    this.polls = new Polls(sharded);
    this.proofs = new Proofs(table);
    this.notices = new QuestionNotices(sharded);
    this.questions = new Questions(sharded);
    this.unwantedTasks = new UnwantedTasks(sharded);
    this.longSteps = new LongSteps(sharded);
    this.schedules = new Schedules(sharded);
    this.lists = new Lists(sharded);
    this.servers = new ServerStates(table);
    this.dueShards = dueShards;
  }
}
