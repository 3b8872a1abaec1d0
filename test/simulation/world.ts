import { createHash } from 'node:crypto';
import type { ScheduledEvent } from 'aws-lambda';
import { EngineError, storedError } from '../../lib/base/errors.js';
import { remoteKeyOf } from '../../lib/base/ids.js';
import {
  dueShardsMin,
  stepFunctionTimeoutMs,
  sweepIntervalMs,
  turnTimeoutMs,
  turnVisibilityMs,
  requestTimeoutMs,
} from '../../lib/base/limits.js';
import { silentLog, type Log } from '../../lib/base/log.js';
import type { JsonValue } from '../../lib/base/json.js';
import type { MetricName } from '../../lib/base/metrics.js';
import type { EpochMs } from '../../lib/base/time.js';
import type { EventBus } from '../../lib/bus/event-bus.js';
import type { Commit, HistoryEvent, RemoteTaskHandle } from '../../lib/history/event.js';
import type { LifecycleEvent } from '../../lib/history/lifecycle-event.js';
import type { Deps } from '../../lib/operations/deps.js';
import { scheduleHandler } from '../../lib/aws/schedule-handler.js';
import { drainMicrotasks } from '../../lib/process/drain.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { handleWork, loadDelivery } from '../../lib/operations/sweep/handle-work.js';
import { requestControl } from '../../lib/operations/requests/control-run.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import { makeRemoteStart } from '../../lib/operations/remote-task/make-remote-start.js';
import { loadRunDeeds } from '../../lib/operations/steps/run-step.js';
import { runLongStep } from '../../lib/operations/steps/run-long-step.js';
import { loadAnswerContent } from '../../lib/operations/requests/answer-question.js';
import { loadTenantLimits } from '../../lib/operations/requests/tenant-admission.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { loadTaskHint } from '../../lib/operations/turn/end-run.js';
import { loadRaiseOwed } from '../../lib/operations/turn/owe-pushes.js';
import { loadGeneration } from '../../lib/operations/turn/next-run.js';
import { loadNextRun } from '../../lib/operations/turn/end-run.js';
import { loadRareParts } from '../../lib/operations/turn/load-rare-parts.js';
import { loadStopRemote } from '../../lib/operations/turn/release-markers.js';
import { loadPushConfigs, loadSendParts } from '../../lib/operations/serve/tasks.js';
import { loadTellPeople } from '../../lib/operations/people/load-tell-people.js';
import { loadLostStart } from '../../lib/operations/remote-task/stop-remote.js';
import { wakeRun } from '../../lib/operations/wake.js';
import { WarmRuns } from '../../lib/operations/warm-runs.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { loadLimitedStart, startRun } from '../../lib/operations/requests/start-run.js';
import type { Queues, StartMessage, StepMessage, TurnMessage, WorkMessage } from '../../lib/queue/queue.js';
import { protectTransports } from '../../lib/remote/guard/protection.js';
import { loadServerLimiter } from '../../lib/remote/guard/server-guard.js';
import type { RemoteQuestion } from '../../lib/history/remote-question.js';
import type { SaidOfTask } from '../../lib/history/task-trail.js';
import type {
  AdmissionPurpose,
  AnswerReply,
  FindReply,
  PushRegistration,
  RemoteTaskTransport,
  RemoteTransports,
  StartReply,
} from '../../lib/remote/transport.js';
import { toCommit } from '../../lib/store/items/commit.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import { tableIndexes, type IndexPage, type IndexQuery, type Item, type Table } from '../../lib/store/table.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import type { A2aAgentConfig, App } from '../../lib/workflow/app.js';
import { defineApp, mcpServer } from '../../lib/workflow/app.js';
import { snsTopic } from '../../lib/workflow/people.js';
import type { Delivery, Messenger } from '../../lib/remote/messenger.js';
import { pushTimeoutMs, type Push, type PushAnswer, type PushSender } from '../../lib/remote/push-sender.js';
import type { ScheduleConfig } from '../../lib/workflow/schedule.js';
import type { HookConfig } from '../../lib/workflow/hook.js';
import type { StepContext } from '../../lib/workflow/step-options.js';
import type { AnyWorkflow } from '../../lib/workflow/define-workflow.js';
import { seeded } from './random.js';
import { heardMetrics } from '../support/outputs/heard.js';

// Loads lazy modules first: loading takes real time, which no process of the world must wait for.
await Promise.all([
  loadAnswerContent(),
  loadDelivery(),
  loadRaiseOwed(),
  loadPushConfigs(),
  loadSendParts(),
  loadLimitedStart(),
  loadLostStart(),
  loadNextRun(),
  loadGeneration(),
  loadTaskHint(),
  loadRareParts(),
  loadStopRemote(),
  loadRunDeeds(),
  loadServerLimiter(),
  loadTellPeople(),
  loadTenantLimits(),
  new RunStore(new MemoryTable()).servers.limits(),
  new RunStore(new MemoryTable()).limitedStarts(),
  new RunStore(new MemoryTable()).servedTasks(),
  new RunStore(new MemoryTable()).pushConfigs(),
]);

const S = 1000;
const topicArn = 'arn:aws:sns:eu-central-1:123456789012:people';
const start = Date.UTC(2026, 0, 1);
/** Duration of a table call or queue call, so that owners interleave. */
const latencyMs = 10;

/**
 * Faults at an operation of a process. `ok` is the first alternative, so that "always the first" is a run without
 * faults.
 */
export type Deviation =
  | 'ok'
  | 'crash'
  /** The operation takes effect and its caller does not learn of it. */
  | 'crashAfter'
  | 'crashAndMessageLost'
  | 'reboot'
  | 'freeze3'
  | 'freeze100'
  | 'freeze1000'
  | 'lostAck'
  | 'lateApply'
  | 'throttle'
  | 'drop'
  | 'duplicate'
  | 'refused'
  | 'noReply'
  | 'noReplyLost'
  /** The bus takes the first of several events, or none. */
  | 'partlyTaken';

/** The operation takes place once `freezeUntil` holds, which is checked after each step of the world. */
export interface Freeze {
  readonly freezeUntil: () => boolean;
}

interface Operation<Value> {
  readonly tag: string;
  readonly kind: 'read' | 'write' | 'send' | 'publish' | 'remote' | 'remoteStart' | 'remoteCancel' | 'notice' | 'push';
  readonly apply: (deviation: Deviation) => Value | Promise<Value>;
  /** Time that the caller waits for the answer after the operation took effect. */
  readonly answerMs?: number | (() => number);
}

/** An invocation; an operation of a dead one never returns. */
export interface Process {
  readonly name: string;
  dead: boolean;
  readonly lock: GroupLock | undefined;
  /** The instance that it runs in. */
  readonly replica: number;
  /** The code that it runs. */
  readonly app: App;
  /** The run whose turn or long step it runs. */
  readonly runId: string | undefined;
  readonly startedAtMs: EpochMs;
  /** Milliseconds by which its clock is ahead of the world's. */
  readonly skewMs: number;
  /** Instant of the last fault at one of its operations. */
  troubledAtMs: EpochMs;
  /** Whether it or its messages were lost, or it hung for longer than it may live: its work may be repeated. */
  isLost: boolean;
  /** Rounds of the code that took no time, at this instant. */
  rounds: { atMs: EpochMs; count: number };
  /** Called some time after it died. */
  readonly again?: () => void;
}

export interface QueuedTurn {
  readonly message: TurnMessage;
  receiveCount: number;
}

export interface GroupLock {
  readonly runId: string;
  readonly message: QueuedTurn;
}

interface Group {
  messages: QueuedTurn[];
  lock: GroupLock | undefined;
  readonly recent: Map<string, EpochMs>;
}

export interface RemoteTask {
  readonly key: string;
  readonly taskId: string;
  readonly tool: string;
  readonly madeAtMs: EpochMs;
  /** Counted from the last answer, for a task that asks. */
  endsAtMs: EpochMs;
  /** The answers that it received, in order. */
  readonly answers: { readonly key: string; readonly answer: string }[];
  /** What its server has said of it, in the order of its replies. */
  readonly said: SaidOfTask[];
  cancelled: boolean;
}

export interface WorldOptions {
  readonly seed: number;
  /** Probability of a deviation at each operation. */
  readonly faultRate: number;
  readonly workflows: readonly AnyWorkflow[];
  /** Duration of the task of each tool, in seconds. */
  readonly tools?: Readonly<Record<string, number>>;
  readonly dedupes?: boolean;
  /** Seconds that the remote server takes to answer a start, so that workers make its starts. Default: it is prompt. */
  readonly startsTakeS?: number;
  /** Whether the remote server can be asked for the task of a start. Default: false. */
  readonly finds?: boolean;
  /** `perhaps`: whether it lists its tasks is not known before it is asked; `never`: it does not list them. */
  readonly lists?: 'perhaps' | 'never';
  /** Whether running tasks change: their state, message and number, every seven seconds. Default: false. */
  readonly changes?: boolean;
  /** Number of questions that each tool asks before its task exists, and while it runs. Default: none. */
  readonly asks?: Readonly<Record<string, { readonly first: number; readonly then: number }>>;
  /** No fault begins after this many seconds. */
  readonly faultsEndS?: number;
  readonly endS?: number;
  /** Called after each applied write with the current items. */
  readonly onApplied?: (items: readonly Item[], world: World) => void;
  /** Overrides the dice: a directed test decides what happens at which operation of which process. */
  readonly direct?: (
    tag: string,
    process: string,
    alternatives: readonly Deviation[],
  ) => Deviation | Freeze | undefined;
  /** Loses every message to a queue between these seconds. */
  readonly dropAllMessagesS?: { readonly from: number; readonly until: number };
  /** Delivers every message twice, and up to this many seconds late. */
  readonly chaoticQueues?: { readonly lateS: number };
  /**
   * Number of instances that turns are spread over; each keeps runs warm from one of its turns to the next, until it
   * dies. Default: 2.
   */
  readonly replicas?: number;
  /**
   * Another version of the code, and the share of the invocations that gets it, by the second in which they begin.
   * Default: none.
   */
  readonly other?: { readonly workflows: readonly AnyWorkflow[]; readonly shareAt: (seconds: number) => number };
  /**
   * Number of due shards over which an invocation spreads its markers, by its process and the second in which it
   * begins. Default: 16, for all.
   */
  readonly dueShardsOf?: (process: string, seconds: number) => number;
  /**
   * Whether a caller that dies or is refused retries with the same key, as one without an answer does. Default: false.
   */
  readonly callersAskAgain?: boolean;
  /** Whether there is a bus that receives lifecycle events. Default: false. */
  readonly bus?: boolean;
  /** Called for each event that the bus takes, before it is added to those published. */
  readonly onPublished?: (event: LifecycleEvent, world: World) => void;
  /** The bus takes nothing between these seconds. */
  readonly busIsGoneS?: { readonly from: number; readonly until: number };
  /** Whether turns receive the delivery count of their message. Default: false. */
  readonly countsDeliveries?: boolean;
  /**
   * Returns by how much the clock of an invocation is ahead of the world's, by its process and its instance. Default:
   * 0.
   */
  readonly skewMsOf?: (process: string, replica: number) => number;
  /** The maximum of these. */
  readonly skewMaxMs?: number;
  /** Runs that the sweep starts by the clock. */
  readonly schedules?: readonly ScheduleConfig[];
  /** Returns whether an item is missing; no reader finds it then. */
  readonly isGone?: (item: Item) => boolean;
  /** Returns whether a partition of the due index cannot be read at a second. */
  readonly indexFails?: (partition: string, seconds: number) => boolean;
  /** Seconds after its start for which the server reports a task as unknown. */
  readonly missingForS?: number;
  /** Seconds that the server takes to answer a start. Default: 0.3. */
  readonly answersAfterS?: number;
  /** Whether a cancel may be answered with an error. Default: false. */
  readonly cancelsFail?: boolean;
  /** What others start and signal over HTTP, and the secret that they all have. Default: nothing. */
  readonly hooks?: Readonly<Record<string, HookConfig>>;
  readonly secret?: string;
  /**
   * The remote server as an agent of the app, which is told where to push news. If it has limits, an instance keeps its
   * permits from one process to the next, until one of its processes dies. Default: an MCP server without limits.
   */
  readonly agent?: A2aAgentConfig;
  /** Receives the news of served tasks. Default: nobody may be pushed to. */
  readonly receiver?: Receiver;
  readonly observer?: Observer;
}

/** Returns what the receiver of a push answers, and after how long. */
export type Receiver = (push: Push, process: Process) => { readonly answer: PushAnswer; readonly takesMs: number };

/** Receives what happens to the processes. */
export interface Observer {
  readonly onSpawned?: (process: Process) => void;
  readonly onKilled?: (process: Process) => void;
  readonly onFailed?: (process: Process, error: unknown) => void;
  readonly onDone?: (process: Process) => void;
  /** Called before an attempt to start a remote task. */
  readonly onRemoteStart?: (process: Process, idempotencyKey: string) => void;
  /** Called when a receiver gets a notice. */
  readonly onNotice?: (process: Process, id: string) => void;
  /** Called for each start that made a task, with what the server is to push to. */
  readonly onTask?: (task: RemoteTask, push: PushRegistration | undefined) => void;
  /** Called when the server has answered a read with a task that goes on. */
  readonly onRead?: (task: RemoteTask) => void;
  /** Called when the server has deleted the push registration of a task. */
  readonly onForgotten?: (taskId: string) => void;
  /** Called when the limits of the server let a call pass. */
  readonly onAdmitted?: (process: Process, purpose: AdmissionPurpose) => void;
  /** Called when the server begins with a call that takes so long. */
  readonly onCalled?: (process: Process, call: 'start' | 'read', takesMs: number) => void;
}

/**
 * A turn that loops without waiting would loop for ever, since time stands still meanwhile. A replay takes one round
 * for each event, and some histories have ten thousand of them, which may be read again when a commit is lost.
 */
const roundsMax = 50_000;

/**
 * Many processes on one virtual clock, in one thread, from one seed. They run the code of the engine; table, queues,
 * remote server, clock and randomness belong to the world. Operations of the processes interleave at their latencies,
 * and each one may fail.
 */
export class World {
  nowMs: EpochMs = start;
  readonly trace: string[] = [];
  readonly table: MemoryTable;
  readonly items = new Map<string, Item>();
  readonly remote = { starts: [] as { key: string; afterEnd: boolean }[], tasks: [] as RemoteTask[], reads: 0 };
  readonly violations = new Map<string, string>();
  readonly notes = new Set<string>();
  readonly crashed = new Set<string>();
  /**
   * Processes that learned of a task by a reply to a start. A task that is on no token item must be cancelled by a
   * process that lives.
   */
  readonly mustCancel: { readonly taskId: string; readonly process: string }[] = [];
  readonly acceptedSignals: { readonly runId: string; readonly name: string; readonly key: string }[] = [];
  lastFaultMs: EpochMs = 0;
  faults = 0;
  /** The oracles run workflows too; their steps are recorded and must not run. */
  isReplaying = false;
  readonly settledTrue: string[] = [];
  /** The process whose operation takes effect now. */
  writer: Process | undefined;
  /** The notices that receivers have got, in order. */
  readonly notices: { readonly id: string; readonly to: string; readonly atMs: EpochMs }[] = [];
  /** The events that the bus has taken, in order. */
  readonly published: LifecycleEvent[] = [];
  /** Calls of relays that failed, or whose process died or still hangs. */
  unansweredRelays = 0;
  readonly app: App;
  /** The other version, if any. */
  readonly otherApp: App | undefined;
  /** Number of times that a run was newly blocked, by the version of the code that it did not fit. */
  readonly newlyBlocked = { app: 0, otherApp: 0 };
  readonly #versions: () => number;
  readonly #options: Required<Pick<WorldOptions, 'seed' | 'faultRate' | 'dedupes' | 'faultsEndS' | 'endS'>> &
    WorldOptions;
  readonly #random: () => number;
  readonly #ids: () => number;
  readonly #agenda: { atMs: EpochMs; order: number; run: () => void }[] = [];
  #order = 0;
  #pids = 0;
  #epoch = 0;
  readonly #processes = new Set<Process>();
  #frozen: { readonly isOver: () => boolean; readonly goOn: () => void }[] = [];
  #isSweeping = false;
  #isSpinning = false;
  /** Processes that sign a push, which takes real time: the world stands still meanwhile. */
  readonly #signing = new Set<Process>();
  /** Parts of the engine that are being loaded, which takes real time too. */
  #loading = 0;
  /** The warm runs of each instance. */
  readonly #warmRuns: WarmRuns[];
  /** The guard of the remote server in each instance, if it has limits. */
  readonly #guards = new Map<number, RemoteTransports>();
  #guarded: Process | undefined;
  readonly #groups = new Map<string, Group>();
  readonly #indexLog: { readonly atMs: EpochMs; readonly item: Item }[] = [];
  readonly tokens = new TokenKeys([{ keyId: 'sim', secret: new Uint8Array(32) }]);

  constructor(options: WorldOptions) {
    this.#options = { dedupes: true, faultsEndS: 2600, endS: 5000, ...options };
    this.#warmRuns = Array.from({ length: options.replicas ?? 2 }, () => new WarmRuns());
    this.#random = seeded(options.seed);
    this.#ids = seeded(options.seed ^ 0x5bd1e995);
    this.table = new MemoryTable({
      onApplied: (applied) => {
        for (const item of applied) {
          this.#indexLog.push({ atMs: this.nowMs, item });
          options.onApplied?.([item], this);
          this.items.set(`${item.pk} ${item.sk}`, item);
        }
      },
    });
    const appOf = (workflows: readonly AnyWorkflow[]): App =>
      defineApp({
        workflows,
        servers: { remote: options.agent ?? mcpServer({ url: 'https://remote.example.com/mcp' }) },
        people: { receivers: { desk: snsTopic({ topicArn }), boss: snsTopic({ topicArn }) } },
        schedules: (options.schedules ?? []).filter(({ workflow }) =>
          workflows.some(({ name }) => name === workflow.name),
        ),
        hooks: workflows.length === 0 ? {} : (options.hooks ?? {}),
      });
    this.app = appOf(options.workflows);
    this.otherApp = options.other === undefined ? undefined : appOf(options.other.workflows);
    this.#versions = seeded(options.seed ^ 0x1b873593);
  }

  get seconds(): number {
    return this.secondsOf(this.nowMs);
  }

  secondsOf(atMs: EpochMs): number {
    return (atMs - start) / S;
  }

  fail(kind: string, detail: string): void {
    if (this.violations.has(kind)) return;
    this.violations.set(kind, detail);
    this.#note(`!! ${kind}: ${detail}`);
  }

  // ----- time -----

  at(atMs: EpochMs, run: () => void): void {
    const entry = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, run };
    let low = 0;
    let high = this.#agenda.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#agenda[middle]?.atMs ?? 0) <= entry.atMs) low = middle + 1;
      else high = middle;
    }
    this.#agenda.splice(low, 0, entry);
  }

  atSecond(seconds: number, run: () => void): void {
    this.at(start + seconds * S, run);
  }

  /**
   * Runs until `done` returns true or the world ends, and continues from there when called again; the microtasks of
   * each step are drained before the next.
   */
  async run(done: () => boolean = () => false): Promise<void> {
    if (!this.#isSweeping)
      this.at(start + sweepIntervalMs, () => {
        this.#sweep();
      });
    this.#isSweeping = true;
    for (;;) {
      const next = this.#agenda.shift();
      if (next === undefined || next.atMs > start + this.#options.endS * S) return;
      this.nowMs = next.atMs;
      next.run();
      do await new Promise((resolve) => setImmediate(resolve));
      while (this.#signing.size > 0 || this.#loading > 0);
      this.#thaw();
      if (this.#isSpinning || done()) return;
    }
  }

  #sweep(): void {
    this.#spawn('sweep', (deps) =>
      this.#options.schedules === undefined
        ? fanOutDue(deps).then(() => undefined)
        : scheduleHandler(async () => deps)({ time: new Date(this.nowMs).toISOString() } as ScheduledEvent),
    );
    this.at(this.nowMs + sweepIntervalMs, () => {
      this.#sweep();
    });
  }

  #thaw(): void {
    const over = this.#frozen.filter(({ isOver }) => isOver());
    if (over.length === 0) return;
    this.#frozen = this.#frozen.filter((frozen) => !over.includes(frozen));
    this.lastFaultMs = this.nowMs;
    for (const { goOn } of over) goOn();
  }

  // ----- randomness -----

  #pick(alternatives: readonly Deviation[], tag: string, process: Process): Deviation | Freeze {
    const directed = this.#options.direct?.(tag, process.name, alternatives);
    if (directed !== undefined && directed !== 'ok') return this.#fault(directed, tag, process);
    if (this.seconds > this.#options.faultsEndS || this.#random() >= this.#options.faultRate) return 'ok';
    return this.#fault(alternatives[Math.floor(this.#random() * alternatives.length)] ?? 'ok', tag, process);
  }

  #fault<Fault extends Deviation | Freeze>(deviation: Fault, tag: string, process: Process): Fault {
    this.faults++;
    process.troubledAtMs = this.nowMs;
    if (typeof deviation === 'string' && losing.has(deviation)) process.isLost = true;
    this.lastFaultMs = Math.max(this.lastFaultMs, this.nowMs);
    this.#note(`** ${process.name} ${typeof deviation === 'string' ? deviation : 'freeze'} at ${tag}`);
    return deviation;
  }

  #note(text: string): void {
    this.trace.push(`${this.seconds.toFixed(2)} ${text}`);
  }

  // ----- processes -----

  #spawn(
    name: string,
    body: (deps: Deps) => Promise<void>,
    lock?: GroupLock,
    onDone: () => void = () => undefined,
    again?: () => void,
    runId = lock?.runId,
  ): Process {
    const unique = `${name}.${++this.#pids}`;
    const replica = this.#pids % Math.max(1, this.#warmRuns.length);
    const process: Process = {
      name: unique,
      dead: false,
      lock,
      replica,
      app: this.#deployedApp(),
      runId,
      startedAtMs: this.nowMs,
      skewMs: this.#options.skewMsOf?.(unique, replica) ?? 0,
      troubledAtMs: 0,
      isLost: false,
      rounds: { atMs: 0, count: 0 },
      ...(again === undefined ? {} : { again }),
    };
    this.#processes.add(process);
    const { observer } = this.#options;
    observer?.onSpawned?.(process);
    body(this.#deps(process)).then(
      () => {
        this.#signing.delete(process);
        if (!process.dead) onDone();
        this.#processes.delete(process);
        if (!process.dead) observer?.onDone?.(process);
      },
      (error: unknown) => {
        this.#signing.delete(process);
        if (!process.dead) observer?.onFailed?.(process, error);
        if (!process.dead) this.#note(`${process.name} failed: ${error instanceof Error ? error.message : 'unknown'}`);
        this.#processes.delete(process);
        if (!(error instanceof EngineError))
          this.fail('unexpected-error', error instanceof Error ? (error.stack ?? error.message) : 'unknown');
      },
    );
    return process;
  }

  #deployedApp(): App {
    const share = this.#options.other?.shareAt(this.seconds) ?? 0;
    return this.otherApp !== undefined && this.#versions() < share ? this.otherApp : this.app;
  }

  #kill(process: Process): void {
    process.dead = true;
    process.isLost = true;
    this.#options.observer?.onKilled?.(process);
    this.crashed.add(process.name);
    this.#processes.delete(process);
    this.#forget(process);
    const { again } = process;
    if (again !== undefined) this.at(this.nowMs + 5 * S, again);
  }

  /** Drops the warm runs of an instance, which dies with its turn, and the permits that it has leased. */
  #forget({ lock, replica }: Process): void {
    this.#guards.delete(replica);
    if (lock !== undefined && this.#warmRuns.length > 0) this.#warmRuns[replica] = new WarmRuns();
  }

  /** Runs a process of an outside caller of the engine. */
  #call(name: string, body: (deps: Deps) => Promise<void>): void {
    if (this.#options.callersAskAgain !== true) {
      this.#spawn(name, body);
      return;
    }
    const again = (): void => {
      this.#call(name, body);
    };
    const insisting = (deps: Deps): Promise<void> =>
      body(deps).catch((error: unknown) => {
        this.at(this.nowMs + 5 * S, again);
        throw error;
      });
    this.#spawn(name, insisting, undefined, undefined, again);
  }

  /** Runs one operation of a process, with the fault that is drawn for it. */
  #operate<Value>(process: Process, asked: Operation<Value>): Promise<Value> {
    const operation: Operation<Value> = {
      ...asked,
      apply: (deviation) => {
        this.writer = process;
        try {
          return asked.apply(deviation);
        } finally {
          this.writer = undefined;
        }
      },
    };
    return new Promise<Value>((resolve, reject) => {
      if (process.dead) return;
      const perform = (afterMs: number, deviation: Deviation = 'ok'): void => {
        this.at(this.nowMs + afterMs, () => {
          if (process.dead) return;
          if (operation.kind !== 'read') this.#note(`${process.name} ${operation.tag}`);
          const value = operation.apply(deviation);
          const { answerMs = 0 } = operation;
          this.at(this.nowMs + (typeof answerMs === 'number' ? answerMs : answerMs()), () => {
            if (!process.dead) resolve(value);
          });
        });
      };
      const deviation = this.#pick(alternativesOf(operation, process), operation.tag, process);
      if (typeof deviation !== 'string') {
        this.#frozen.push({
          isOver: deviation.freezeUntil,
          goOn: () => {
            perform(0);
          },
        });
        return;
      }
      switch (deviation) {
        case 'ok':
        case 'refused':
        case 'noReply':
        case 'noReplyLost':
        case 'partlyTaken':
          perform(latencyMs, deviation);
          return;
        case 'crash':
          this.#kill(process);
          return;
        case 'crashAfter':
          this.at(this.nowMs + latencyMs, () => {
            if (process.dead) return;
            this.#note(`${process.name} ${operation.tag} (applied)`);
            void operation.apply('ok');
            this.#kill(process);
          });
          return;
        case 'crashAndMessageLost':
          if (process.lock !== undefined) this.#deleteMessage(process.lock);
          this.#kill(process);
          return;
        case 'reboot':
          this.#reboot();
          return;
        case 'freeze3':
        case 'freeze100':
        case 'freeze1000': {
          const ms = Number(deviation.slice('freeze'.length)) * S;
          this.lastFaultMs = Math.max(this.lastFaultMs, this.nowMs + ms);
          perform(ms);
          return;
        }
        case 'lostAck':
          this.at(this.nowMs + latencyMs, () => {
            if (process.dead) return;
            this.#note(`${process.name} ${operation.tag} (applied, acknowledgement lost)`);
            void operation.apply('ok');
            perform(100);
          });
          return;
        case 'lateApply':
          this.lastFaultMs = Math.max(this.lastFaultMs, this.nowMs + 8 * S);
          this.at(this.nowMs + 8 * S, () => {
            this.#note(`${process.name} ${operation.tag} (late)`);
            void operation.apply('ok');
          });
          this.at(this.nowMs + latencyMs, () => {
            reject(new EngineError('STORE_RESULT_UNKNOWN', 'no answer'));
          });
          return;
        case 'throttle':
          this.at(this.nowMs + latencyMs, () => {
            reject(new EngineError('STORE_UNAVAILABLE', 'throttled'));
          });
          return;
        case 'drop':
          this.at(this.nowMs + latencyMs, () => {
            resolve(undefined as Value);
          });
          return;
        case 'duplicate':
          perform(latencyMs);
          this.at(this.nowMs + latencyMs + S, () => void operation.apply('ok'));
          return;
      }
    });
  }

  /**
   * Decides whether the process dies at a call that takes no time and at which only a directed test lets a process die;
   * it dies here, or after the call.
   */
  #diesAt(tag: string, process: Process): 'crash' | 'crashAfter' | undefined {
    if (process.dead) return undefined;
    const directed = this.#options.direct?.(tag, process.name, []);
    if (directed !== 'crash' && directed !== 'crashAfter') return undefined;
    this.#fault(directed, tag, process);
    if (directed === 'crash' || tag !== 'delay') this.#kill(process);
    return directed;
  }

  /** Drops the warm runs of all instances. */
  forgetRuns(): void {
    for (const replica of this.#warmRuns.keys()) this.#warmRuns[replica] = new WarmRuns();
  }

  #reboot(): void {
    for (const process of [...this.#processes]) this.#kill(process);
    this.forgetRuns();
    this.#groups.clear();
    this.#epoch++;
    this.at(this.nowMs + S, () => {
      this.#spawn('boot', (deps) => fanOutDue(deps).then(() => undefined));
    });
  }

  #deps(process: Process): Deps {
    const options = this.#options;
    const warmRuns = this.#warmRuns[process.replica];
    const deps: Deps = {
      app: process.app,
      metrics: heardMetrics({
        put: (name: MetricName) => {
          if (name === 'NewlyBlockedRuns') this.newlyBlocked[process.app === this.app ? 'app' : 'otherApp'] += 1;
        },
      }),
      ...(warmRuns === undefined ? {} : { warmRuns }),
      store: this.#loadingInTime(
        new RunStore(new SealedTable(this.#tableOf(process)), {
          dueShards: options.dueShardsOf?.(process.name, this.seconds) ?? dueShardsMin,
        }),
      ),
      queues: this.#queuesOf(process),
      transports: { get: () => this.#transportOf(process) },
      messenger: this.#messengerOf(process),
      ...(options.receiver === undefined ? {} : { pushSender: this.#pushSenderOf(process, options.receiver) }),
      ...(options.bus === true ? { bus: this.#busOf(process) } : {}),
      tokens: options.receiver === undefined ? this.tokens : this.#tokensOf(process),
      clock: { nowMs: () => this.nowMs + process.skewMs },
      random: {
        fraction: () => this.#ids(),
        hex: (count) =>
          Array.from({ length: count }, () =>
            Math.floor(this.#ids() * 256)
              .toString(16)
              .padStart(2, '0'),
          ).join(''),
      },
      digest: sha256,
      ...(options.agent === undefined ? {} : { publicUrl: 'https://outwait.example.com' }),
      ...(options.secret === undefined
        ? {}
        : { secrets: { read: async () => ({ reveal: () => options.secret ?? '' }) } }),
      drain: async (options) => {
        if (options?.quietly === true) await drainMicrotasks(options);
        await new Promise<void>((resolve) => {
          this.#countRound(process);
          this.at(this.nowMs, resolve);
        });
      },
      delay: (delayMs, signal) =>
        new Promise((resolve) => {
          const death = this.#diesAt('delay', process);
          const over = (): void => {
            signal?.removeEventListener('abort', over);
            if (death === 'crashAfter') this.#kill(process);
            else resolve();
          };
          signal?.addEventListener('abort', over);
          this.at(this.nowMs + delayMs, over);
        }),
      log: options.seed < 0 ? console : this.#logOf(process),
    };
    return { ...deps, transports: this.#protected(process, deps) };
  }

  /** Lets no time pass while a process loads a part of its store. */
  #loadingInTime(store: RunStore): RunStore {
    const held =
      <Part>(load: () => Promise<Part>): (() => Promise<Part>) =>
      async () => {
        this.#loading++;
        try {
          return await load();
        } finally {
          this.#loading--;
        }
      };
    const { callers, servedTasks, streamSlots, pushConfigs, limitedStarts } = store;
    return Object.assign(store, {
      callers: held(callers),
      servedTasks: held(servedTasks),
      streamSlots: held(streamSlots),
      pushConfigs: held(pushConfigs),
      limitedStarts: held(limitedStarts),
    });
  }

  /** Returns the transports behind a guard of the process, or of its instance if the remote server has limits. */
  #protected(process: Process, deps: Deps): RemoteTransports {
    const { agent, observer } = this.#options;
    if (agent?.limits === undefined)
      return protectTransports(deps.transports, () => undefined, { ...deps, states: deps.store.servers });
    return {
      get: (server) => {
        const guard = this.#guards.get(process.replica) ?? this.#newGuard(process, deps);
        this.#guards.set(process.replica, guard);
        this.#guarded = process;
        const transport = guard.get(server);
        return {
          ...transport,
          admit: async (purpose, terms) => {
            const admission = await transport.admit!(purpose, terms);
            if (admission.kind === 'admitted' && !process.dead) observer?.onAdmitted?.(process, purpose);
            return admission;
          },
        };
      },
    };
  }

  /** Creates the guard of an instance, which reaches the table as a process of its own: it outlives the others. */
  #newGuard({ replica, app, skewMs }: Process, { clock, random, log }: Deps): RemoteTransports {
    const process: Process = {
      ...{ name: `guard.${replica}`, dead: false, lock: undefined, replica, app, runId: undefined },
      ...{ startedAtMs: this.nowMs, skewMs, troubledAtMs: 0, isLost: false, rounds: { atMs: 0, count: 0 } },
    };
    const delay: Deps['delay'] = (delayMs, signal) =>
      new Promise((resolve) => {
        const over = (): void => {
          resolve();
        };
        signal?.addEventListener('abort', over);
        this.at(this.nowMs + delayMs, over);
      });
    const states = new RunStore(new SealedTable(this.#tableOf(process))).servers;
    const transports = { get: () => this.#transportOf(this.#guarded!) };
    return protectTransports(transports, () => this.#options.agent?.limits, { states, clock, random, log, delay });
  }

  /** Returns a log that prints nothing, but tells a step which process it runs in. */
  #logOf(process: Process): Log {
    if (this.#options.observer === undefined) return silentLog;
    const speaks = (): void => {
      this.#speaker = process;
    };
    return { ...silentLog, debug: speaks };
  }

  #speaker: Process | undefined;

  /** Returns the process that a step runs in, by the log that the step received. */
  processOf(log: Log): Process | undefined {
    this.#speaker = undefined;
    log.debug('here');
    return this.#speaker;
  }

  #countRound(process: Process): void {
    const { rounds } = process;
    if (rounds.atMs === this.nowMs) rounds.count++;
    else process.rounds = { atMs: this.nowMs, count: 1 };
    if (rounds.count < roundsMax) return;
    this.#isSpinning = true;
    this.fail('turn-spins', `${process.name} went round ${rounds.count} times in one instant`);
  }

  // ----- table -----

  #tableOf(process: Process): Table {
    const { isGone } = this.#options;
    const there = (item: Item | undefined): boolean => item === undefined || isGone?.(item) !== true;
    const left = async (found: Promise<Item[]>): Promise<Item[]> => (await found).filter(there);
    return {
      write: (write) =>
        this.#operate(process, {
          tag:
            write.kind === 'put'
              ? `put ${write.item.sk}`
              : `update ${write.key.sk} ${[...Object.keys(write.set ?? {}), ...(write.remove ?? []).map((name) => `-${name}`)].join(',')}`,
          kind: 'write',
          apply: () => this.table.write(write),
        }),
      transact: (writes) =>
        this.#operate(process, {
          tag: `transact ${writes.map((write) => (write.kind === 'put' ? write.item.sk : `${write.key.sk}=${String(write.set?.['status'] ?? '')}`)).join(' ')}`,
          kind: 'write',
          apply: () => this.table.transact(writes),
        }),
      get: (key, attributes) => {
        // No random number is spent on a read that tells nothing while markers are spread no further.
        if (key.pk === 'due' && this.#options.dueShardsOf === undefined) return this.table.get(key, attributes);
        const tag = key.pk === 'due' ? 'get due' : `get ${key.sk}`;
        return this.#operate(process, {
          tag,
          kind: 'read',
          apply: () =>
            isGone === undefined
              ? this.table.get(key, attributes)
              : this.table.get(key, attributes).then((item) => (there(item) ? item : undefined)),
        });
      },
      queryPartition: async (pk, skPrefix, after, attributes) => {
        if (skPrefix !== undefined)
          return this.#operate(process, {
            tag: `query ${skPrefix}`,
            kind: 'read',
            apply: () =>
              isGone === undefined
                ? this.table.queryPartition(pk, skPrefix, after, attributes)
                : left(this.table.queryPartition(pk, skPrefix, after, attributes)),
          });
        // Consistent, but no snapshot: head and commits first, inbox and tokens a moment later.
        const first = await this.#operate(process, {
          tag: 'query a,h#',
          kind: 'read',
          apply: () => this.table.queryPartition(pk, undefined, after),
        });
        const second = await this.#operate(process, {
          tag: 'query i#,t#',
          kind: 'read',
          apply: () => this.table.queryPartition(pk, undefined, after),
        });
        const isEarly = ({ sk }: Item): boolean => sk === 'a' || sk.startsWith('h#');
        return [...first.filter(isEarly), ...second.filter((item) => !isEarly(item))].filter(there);
      },
      queryIndex: async (query) => {
        if (process.dead || this.#diesAt(`index ${query.index} ${query.partition}`, process) !== undefined)
          return new Promise<IndexPage>(() => undefined);
        if (query.index === 'due' && this.#options.indexFails?.(query.partition, this.seconds) === true)
          throw new EngineError('STORE_UNAVAILABLE', `partition ${query.partition} of the index cannot be read`);
        const mayBeStale = query.index === 'due' && this.#indexLog.some(({ atMs }) => atMs > this.nowMs - 60 * S);
        const isStale =
          mayBeStale &&
          !process.name.startsWith('boot') &&
          this.#options.faultRate > 0 &&
          this.seconds < this.#options.faultsEndS &&
          this.#random() < 0.1;
        if (!isStale) return this.table.queryIndex(query);
        this.#fault('ok', `stale index of shard ${query.partition}`, process);
        return this.#staleIndex(query, this.nowMs - 60 * S);
      },
    };
  }

  /** Returns the index as it was at `asOfMs`. */
  #staleIndex(query: IndexQuery, asOfMs: EpochMs): IndexPage {
    const { partition, sort } = tableIndexes.due;
    const items = new Map<string, Item>();
    for (const { atMs, item } of this.#indexLog) if (atMs <= asOfMs) items.set(`${item.pk} ${item.sk}`, item);
    const until = Number(query.until);
    return {
      items: [...items.values()].filter(
        (item) => item[partition] === query.partition && Number(item[sort] ?? Infinity) <= until,
      ),
    };
  }

  // ----- queues -----

  #queuesOf(process: Process): Queues {
    return {
      sendTurn: (message, dedupId) =>
        this.#operate(process, {
          tag: `wake ${message.runId.slice(0, 4)}`,
          kind: 'send',
          apply: () => {
            if (this.#losesMessages()) return;
            this.#enqueueTurn(message, dedupId);
            if (this.#options.chaoticQueues !== undefined)
              this.at(this.nowMs + this.#lateness(), () => {
                this.#enqueueTurn(message, `${dedupId}-again`);
              });
          },
        }),
      sendWork: (message, delayMs) =>
        this.#operate(process, {
          tag: `${message.kind} in ${delayMs / S}`,
          kind: 'send',
          apply: () => {
            if (this.#losesMessages()) return;
            this.#deliverWork(message, delayMs);
            if (this.#options.chaoticQueues !== undefined) this.#deliverWork(message, delayMs + this.#lateness());
          },
        }),
      sendStep: (message, delayMs) =>
        this.#operate(process, {
          tag: `step in ${delayMs / S}`,
          kind: 'send',
          apply: () => {
            if (this.#losesMessages()) return;
            this.#deliverStep(message, delayMs);
            if (this.#options.chaoticQueues !== undefined) this.#deliverStep(message, delayMs + this.#lateness());
          },
        }),
      sendStart: (message, delayMs) =>
        this.#operate(process, {
          tag: `start in ${delayMs / S}`,
          kind: 'send',
          apply: () => {
            if (this.#losesMessages()) return;
            this.#deliverStart(message, delayMs);
            if (this.#options.chaoticQueues !== undefined) this.#deliverStart(message, delayMs + this.#lateness());
          },
        }),
    };
  }

  #losesMessages(): boolean {
    const window = this.#options.dropAllMessagesS;
    return window !== undefined && this.seconds >= window.from && this.seconds < window.until;
  }

  #lateness(): number {
    return this.#random() * (this.#options.chaoticQueues?.lateS ?? 0) * S;
  }

  #deliverWork(message: WorkMessage, delayMs: number): void {
    const epoch = this.#epoch;
    this.at(this.nowMs + Math.ceil(delayMs / S) * S, () => {
      if (epoch === this.#epoch) this.#spawn(message.kind, (deps) => handleWork(deps, message));
    });
  }

  #deliverStep(message: StepMessage, delayMs: number): void {
    const epoch = this.#epoch;
    this.at(this.nowMs + Math.ceil(delayMs / S) * S, () => {
      if (epoch !== this.#epoch) return;
      const endsAtMs = this.nowMs + stepFunctionTimeoutMs;
      const work = (deps: Deps): Promise<void> =>
        runLongStep(deps, message, { remainingMs: () => endsAtMs - this.nowMs }).then(() => undefined);
      this.#spawn('worker', work, undefined, undefined, undefined, message.runId);
    });
  }

  #deliverStart(message: StartMessage, delayMs: number): void {
    const epoch = this.#epoch;
    this.at(this.nowMs + Math.ceil(delayMs / S) * S, () => {
      if (epoch !== this.#epoch) return;
      const endsAtMs = this.nowMs + stepFunctionTimeoutMs;
      const work = (deps: Deps): Promise<void> =>
        makeRemoteStart(deps, message, { remainingMs: () => endsAtMs - this.nowMs }).then(() => undefined);
      this.#spawn('starter', work, undefined, undefined, undefined, message.runId);
    });
  }

  #enqueueTurn(message: TurnMessage, dedupId: string): void {
    const { runId } = message;
    const group: Group = this.#groups.get(runId) ?? { messages: [], lock: undefined, recent: new Map() };
    this.#groups.set(runId, group);
    const last = group.recent.get(dedupId);
    if (last !== undefined && this.nowMs - last < 300 * S) return;
    group.recent.set(dedupId, this.nowMs);
    group.messages.push({ message, receiveCount: 0 });
    this.at(this.nowMs, () => {
      this.#pump(runId);
    });
  }

  #pump(runId: string): void {
    const group = this.#groups.get(runId);
    const message = group?.messages[0];
    if (group === undefined || message === undefined || group.lock !== undefined) return;
    if (++message.receiveCount > 5) {
      group.messages.shift();
      this.#note('message to the dead-letter queue');
      this.#pump(runId);
      return;
    }
    const lock: GroupLock = { runId, message };
    group.lock = lock;
    this.at(this.nowMs + turnVisibilityMs, () => {
      if (group.lock !== lock) return;
      group.lock = undefined;
      this.#pump(runId);
    });
    const endsAtMs = this.nowMs + turnTimeoutMs;
    const deliveryCount = message.receiveCount;
    // A frozen turn lives on past its timeout here, which is harsher than Lambda.
    this.#spawn(
      'turn',
      (deps) =>
        runTurn(deps, message.message, {
          remainingMs: () => endsAtMs - this.nowMs,
          ...(this.#options.countsDeliveries === true ? { deliveryCount } : {}),
        }),
      lock,
      () => {
        this.#deleteMessage(lock);
      },
    );
  }

  #deleteMessage(lock: GroupLock): void {
    const group = this.#groups.get(lock.runId);
    if (group === undefined) return;
    group.messages = group.messages.filter((message) => message !== lock.message);
    if (group.lock !== lock) return;
    group.lock = undefined;
    this.at(this.nowMs, () => {
      this.#pump(lock.runId);
    });
  }

  // ----- the bus -----

  #busOf(process: Process): EventBus {
    return {
      publish: async (events) => {
        const areTaken = await this.#operate(process, {
          tag: `publish ${events.map(({ type }) => type).join(' ')}`,
          kind: 'publish',
          apply: (deviation) => {
            const { busIsGoneS: gone } = this.#options;
            if (gone !== undefined && this.seconds >= gone.from && this.seconds < gone.until) return false;
            const taken = deviation === 'partlyTaken' ? events.slice(0, events.length - 1) : events;
            for (const event of taken) this.#options.onPublished?.(event, this);
            this.published.push(...taken);
            return taken.length === events.length;
          },
        });
        if (!areTaken) throw new EngineError('INTERNAL', 'the bus did not take an event');
      },
    };
  }

  // ----- the people -----

  #messengerOf(process: Process): Messenger {
    return {
      send: (_, { id, body }) =>
        this.#operate<Delivery>(process, {
          tag: `notice ${id}`,
          kind: 'notice',
          answerMs: 300,
          apply: (deviation) => {
            const error = storedError('REMOTE_UNREACHABLE', 'no answer');
            if (deviation === 'refused') return { kind: 'failed', error };
            const { to } = (JSON.parse(body) as { readonly data: { readonly to: string } }).data;
            this.#options.observer?.onNotice?.(process, id);
            this.notices.push({ id, to, atMs: this.nowMs });
            return deviation === 'noReply' ? { kind: 'failed', error } : { kind: 'taken' };
          },
        }),
    };
  }

  // ----- the receivers of pushes -----

  #pushSenderOf(process: Process, receiver: Receiver): PushSender {
    return {
      allows: async () => true,
      send: (push) => {
        this.#signing.delete(process);
        let takesMs = 50;
        return this.#operate<PushAnswer>(process, {
          tag: `push ${push.url}`,
          kind: 'push',
          answerMs: () => Math.min(takesMs, pushTimeoutMs),
          apply: (deviation) => {
            if (deviation === 'refused') return { kind: 'failed' };
            const received = receiver(push, process);
            ({ takesMs } = received);
            return deviation === 'noReply' || takesMs > pushTimeoutMs ? { kind: 'failed' } : received.answer;
          },
        });
      },
    };
  }

  /** Returns token keys that tell when a process begins to sign a push. */
  #tokensOf(process: Process): TokenKeys {
    const signing = this.#signing;
    return new Proxy(this.tokens, {
      get: (keys, name) => {
        const value: unknown = Reflect.get(keys, name, keys);
        if (typeof value !== 'function') return value;
        if (name === 'signingSeeds' && !process.dead) signing.add(process);
        return value.bind(keys) as unknown;
      },
    });
  }

  // ----- the remote server -----

  #transportOf(process: Process): RemoteTaskTransport {
    const { dedupes, finds = false, lists, startsTakeS } = this.#options;
    return {
      protocol: this.#options.agent?.protocol ?? 'mcp',
      dedupes,
      problemWith: () => undefined,
      answersAtOnce: async () => (startsTakeS === undefined ? true : undefined),
      start: ({ request, idempotencyKey, continuation, untilMs, push }) => {
        this.#options.observer?.onRemoteStart?.(process, idempotencyKey);
        const takesMs = (startsTakeS ?? this.#options.answersAfterS ?? 0.3) * S;
        const waitsMs = untilMs === undefined ? requestTimeoutMs : Math.max(0, untilMs - this.nowMs - process.skewMs);
        return this.#operate<StartReply>(process, {
          tag: `start ${request.kind === 'tool' ? request.tool : ''}`,
          kind: 'remoteStart',
          answerMs: Math.min(takesMs, waitsMs),
          apply: (deviation) => {
            this.#options.observer?.onCalled?.(process, 'start', Math.min(takesMs, waitsMs));
            if (deviation === 'refused') return { kind: 'retry', error: storedError('REMOTE_UNREACHABLE', 'refused') };
            if (deviation === 'noReplyLost')
              return { kind: 'unknown', error: storedError('REMOTE_UNREACHABLE', 'no answer') };
            const tool = request.kind === 'tool' ? request.tool : '';
            const round = Number(continuation?.state ?? '0');
            if (round > 0 && continuation?.answers['first'] === undefined)
              this.fail('answer-missing', `round ${round}`);
            if (round < (this.#options.asks?.[tool]?.first ?? 0)) {
              const questions = [{ key: 'first', kind: 'form', message: `round ${round + 1}` }] as const;
              return { kind: 'asked', questions, state: String(round + 1) };
            }
            const task = this.#startTask(idempotencyKey, tool, push);
            if (deviation === 'noReply' || takesMs > waitsMs)
              return { kind: 'unknown', error: storedError('REMOTE_UNREACHABLE', 'no answer') };
            this.mustCancel.push({ taskId: task.taskId, process: process.name });
            const handle = this.#handleOf(task);
            const pushed = push === undefined ? handle : { ...handle, pushConfigId: push.id };
            return { kind: 'started', handle: pushed, ...this.#saidOf(task) };
          },
        });
      },
      traits: async () => ({ dedupes, finds: finds && lists !== undefined ? 'perhaps' : finds }),
      find: ({ idempotencyKey }) =>
        this.#operate<FindReply>(process, {
          tag: 'find',
          kind: 'remote',
          answerMs: 50,
          apply: () => {
            if (lists === 'never')
              return { kind: 'unsupported', error: storedError('REMOTE_START_AMBIGUOUS', 'no lists') };
            const task = this.remote.tasks.find(({ key }) => key === idempotencyKey);
            if (task === undefined) return { kind: 'none' };
            this.mustCancel.push({ taskId: task.taskId, process: process.name });
            return { kind: 'found', handle: this.#handleOf(task) };
          },
        }),
      get: (handle) =>
        this.#operate(process, {
          tag: `read ${handle.taskId}`,
          kind: 'remote',
          answerMs: 50,
          apply: () => {
            this.remote.reads++;
            this.#options.observer?.onCalled?.(process, 'read', 50);
            const task = this.#task(handle);
            if (this.#isMissing(task))
              return { kind: 'missing', error: storedError('REMOTE_TASK_FAILED', 'the server knows no such task') };
            const question = this.#questionOf(task);
            if (question !== undefined) return { kind: 'working', state: 'input_required', questions: [question] };
            if (task.endsAtMs <= this.nowMs)
              return {
                kind: 'ended',
                end: { kind: 'completed', result: task.tool, isError: false, taskId: task.taskId },
              };
            this.#options.observer?.onRead?.(task);
            return { kind: 'working', ...this.#saidOf(task) };
          },
        }),
      answer: (handle, { key }, answer, deliveryKey) =>
        this.#operate<AnswerReply>(process, {
          tag: `answer ${handle.taskId}`,
          kind: 'remote',
          answerMs: 50,
          apply: () => {
            const task = this.#task(handle);
            const content = JSON.stringify(answer);
            const before = task.answers[Number(key) - 1];
            if (before !== undefined && (before.key !== deliveryKey || before.answer !== content))
              this.fail('answered-otherwise', `question ${key} of ${task.taskId}`);
            if (this.#questionOf(task)?.key === key) {
              task.answers.push({ key: deliveryKey, answer: content });
              task.endsAtMs = this.nowMs + (this.#options.tools?.[task.tool] ?? 1e9) * S;
            }
            return { kind: 'done' };
          },
        }),
      cancel: (handle) =>
        this.#operate(process, {
          tag: `cancel ${handle.taskId}`,
          kind: this.#options.cancelsFail === true ? 'remoteCancel' : 'remote',
          answerMs: 50,
          apply: (deviation) => {
            const task = this.#task(handle);
            if (deviation === 'refused' || this.#isMissing(task))
              return { kind: 'retry', error: storedError('REMOTE_UNREACHABLE', 'refused') };
            task.cancelled = true;
            return { kind: 'done' };
          },
        }),
      forgetPush: ({ taskId }) =>
        this.#operate(process, {
          tag: `forget ${taskId}`,
          kind: 'remote',
          answerMs: 50,
          apply: () => {
            this.#options.observer?.onForgotten?.(taskId);
          },
        }),
    };
  }

  #handleOf({ taskId }: RemoteTask): RemoteTaskHandle {
    return { server: 'remote', protocol: this.#options.agent?.protocol ?? 'mcp', wire: 'sim', taskId };
  }

  #questionOf({ tool, answers }: RemoteTask): RemoteQuestion | undefined {
    const isAsking = answers.length < (this.#options.asks?.[tool]?.then ?? 0);
    if (!isAsking) return undefined;
    return { key: String(answers.length + 1), kind: 'form', message: `question ${answers.length + 1}` };
  }

  /** Returns what the server says of a running task now. */
  #saidOf(task: RemoteTask): SaidOfTask {
    const step = Math.floor((this.nowMs - task.madeAtMs) / (7 * S));
    const said: SaidOfTask =
      this.#options.changes === true
        ? { state: step % 3 === 2 ? 'paused' : 'working', note: `part ${step}`, progress: step }
        : { state: 'working' };
    task.said.push(said);
    return said;
  }

  #isMissing({ madeAtMs }: RemoteTask): boolean {
    return this.nowMs - madeAtMs < (this.#options.missingForS ?? 0) * S;
  }

  #task(handle: RemoteTaskHandle): RemoteTask {
    const task = this.remote.tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task === undefined) {
      this.fail('unknown-task', handle.taskId);
      throw new Error(`the remote never had the task ${handle.taskId}`);
    }
    return task;
  }

  /** Whether the fate of a start can be learned from the remote server. */
  get tellsFates(): boolean {
    const { dedupes, finds, lists } = this.#options;
    return dedupes || (finds === true && lists !== 'never');
  }

  get hasBus(): boolean {
    return this.#options.bus === true;
  }

  /** Finds a call by its key; its token item is put before the start. */
  callOf(key: string): { readonly runId: string; readonly waitId: string } {
    for (const { pk, sk } of this.items.values()) {
      const call = { runId: pk.slice('run#'.length), waitId: sk.slice('t#'.length) };
      if (sk.startsWith('t#') && remoteKeyOf(call.runId, call.waitId, sha256) === key) return call;
    }
    this.fail('start-before-token', key);
    return { runId: '', waitId: '' };
  }

  #startTask(key: string, tool: string, push: PushRegistration | undefined): RemoteTask {
    const { runId, waitId } = this.callOf(key);
    if (!this.log(runId).some((event) => event.type === 'RemoteTaskRequested' && event.waitId === waitId)) {
      this.fail('effect-before-commit', `remote start of wait ${waitId}`);
    }
    this.remote.starts.push({ key, afterEnd: this.log(runId).some((event) => event.type === 'RunEnded') });
    const known = this.#options.dedupes ? this.remote.tasks.find((task) => task.key === key) : undefined;
    if (known !== undefined) return known;
    if (this.remote.tasks.some((task) => task.key === key)) this.fail('two-tasks', key);
    const task = {
      key,
      tool,
      taskId: `H${this.remote.tasks.length}`,
      madeAtMs: this.nowMs,
      endsAtMs: this.nowMs + (this.#options.tools?.[tool] ?? 1e9) * S,
      answers: [],
      said: [],
      cancelled: false,
    };
    this.remote.tasks.push(task);
    this.#options.observer?.onTask?.(task, push);
    return task;
  }

  /** Does the work of a step: takes a virtual second and must have been requested in the log. */
  async step(runId: string, name: string): Promise<string> {
    if (this.isReplaying) this.fail('replay-ran-a-step', name);
    if (!this.log(runId).some((event) => event.type === 'StepRequested' && event.name === name))
      this.fail('effect-before-commit', `step ${name}`);
    this.#note(`step ${name}`);
    await new Promise<void>((resolve) => {
      this.at(this.nowMs + S, resolve);
    });
    return name;
  }

  /** Does the work of a long step: from where the last attempt left off, ten virtual seconds at a time. */
  async longStep(
    runId: string,
    name: string,
    { attempt, progress, report, signal }: StepContext,
    seconds: number,
    failures: number,
  ): Promise<string> {
    if (this.isReplaying) this.fail('replay-ran-a-step', name);
    if (!this.log(runId).some((event) => event.type === 'StepRequested' && event.name === name))
      this.fail('effect-before-commit', `step ${name}`);
    this.#note(`long step ${name}, attempt ${attempt}, from ${JSON.stringify(progress ?? 0)}`);
    for (let done = Number(progress ?? 0); done < seconds && !signal.aborted; done += 10) {
      report(done);
      await new Promise<void>((resolve) => {
        this.at(this.nowMs + 10 * S, resolve);
      });
    }
    if (attempt <= failures) throw new Error(`attempt ${attempt} fails`);
    return name;
  }

  // ----- callers -----

  /** Runs a process of an outside caller now. */
  request(name: string, body: (deps: Deps) => Promise<void>): Process {
    return this.#spawn(name, body);
  }

  /** Returns dependencies that take no time, have no faults, and lose their wakes. */
  depsAside(): Deps {
    const quiet: Queues = {
      sendTurn: async () => undefined,
      sendWork: async () => undefined,
      sendStep: async () => undefined,
      sendStart: async () => undefined,
    };
    const aside = this.#deps({
      name: 'aside',
      dead: false,
      lock: undefined,
      replica: 0,
      app: this.app,
      runId: undefined,
      startedAtMs: this.nowMs,
      skewMs: 0,
      troubledAtMs: 0,
      isLost: false,
      rounds: { atMs: 0, count: 0 },
    });
    return { ...aside, queues: quiet, store: new RunStore(new SealedTable(this.table)) };
  }

  get processes(): ReadonlySet<Process> {
    return this.#processes;
  }

  /** The latest time that any clock may show. */
  get furthestMs(): EpochMs {
    return this.nowMs + Math.max(0, this.#options.skewMaxMs ?? 0);
  }

  /** Sends a signal with a key of its own, so that a signal that was accepted twice counts once. */
  signalAt(seconds: number, runId: string, name: string, payload: JsonValue, key: string): void {
    this.atSecond(seconds, () => {
      this.#call('caller', async (deps) => {
        const { accepted } = await signalRun(deps, runId, { name, payload, key });
        if (accepted) this.acceptedSignals.push({ runId, name, key });
      });
    });
  }

  startAt(seconds: number, workflow: string, key: string): string {
    const runId = this.tokens.keyedRunId(workflow, key);
    this.atSecond(seconds, () => {
      this.#call('start', (deps) => startRun(deps, { workflow, key, input: null }).then(() => undefined));
    });
    return runId;
  }

  settleAt(seconds: number, runId: string, waitId: string, result: string): void {
    this.atSecond(seconds, () => {
      this.#call('relay', async (deps) => {
        const token = this.tokens.settleToken({ runId, waitId });
        this.unansweredRelays++;
        const outcome = { kind: 'completed', result, isError: false } as const;
        const answer = await settleToken(deps, { token, outcome }).catch(() => undefined);
        if (answer !== undefined) this.unansweredRelays--;
        if (answer?.settled === true) this.settledTrue.push(`${runId}/${waitId}`);
      });
    });
  }

  stopAt(seconds: number, runId: string, kind: 'cancel' | 'terminate', requestId: string): void {
    this.atSecond(seconds, () => {
      this.#call('caller', async (deps) => {
        const { accepted } = await requestStop(deps, { runId, kind, requestId });
        if (accepted) this.notes.add('accepted');
      });
    });
  }

  retryNowAt(seconds: number, runId: string): void {
    this.controlAt(seconds, runId, 'retryNow');
  }

  controlAt(seconds: number, runId: string, kind: 'pause' | 'resume' | 'retryNow'): void {
    this.atSecond(seconds, () => {
      this.#call('caller', (deps) => requestControl(deps, runId, kind).then(() => undefined));
    });
  }

  /** Delivers a message a second time, or late. */
  wakeAt(seconds: number, runId: string): void {
    this.atSecond(seconds, () => {
      this.#call('caller', (deps) => wakeRun(deps, runId));
    });
  }

  // ----- reading the world -----

  /** Returns when each accepted request to stop came, as long as faults were still possible. */
  inboxTimes(runId: string): readonly EpochMs[] {
    return [...this.items.values()]
      .filter((item) => item.pk === `run#${runId}` && item.sk.startsWith('i#'))
      .map((item) => Number(item['atMs']));
  }

  /** Returns every run: those that were started, their children, and those that continue them. */
  runIds(): readonly string[] {
    return [...this.items.values()].flatMap(({ pk, sk }) =>
      sk === 'a' && pk.startsWith('run#') ? [pk.slice('run#'.length)] : [],
    );
  }

  decode(item: Item): Commit {
    return decodeCommit(item);
  }

  /** Returns the events of a run as the table has them now. */
  log(runId: string): readonly HistoryEvent[] {
    return this.commits(runId).flatMap((commit) => commit.events);
  }

  commits(runId: string): readonly Commit[] {
    return [...this.items.values()]
      .filter((item) => item.pk === `run#${runId}` && item.sk.startsWith('h#'))
      .sort((a, b) => (a.sk < b.sk ? -1 : 1))
      .map((item) => decodeCommit(item));
  }
}

/** Faults that may have the work of a process repeated. */
const losing: ReadonlySet<string> = new Set(['freeze100', 'freeze1000', 'drop']);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const decoded = new WeakMap<Item, Commit>();

/** Decodes each commit once, since the oracles read the log after every write. */
function decodeCommit(item: Item): Commit {
  const known = decoded.get(item);
  if (known !== undefined) return known;
  const commit = toCommit(item);
  decoded.set(item, commit);
  return commit;
}

function alternativesOf(operation: Operation<unknown>, process: Process): readonly Deviation[] {
  const inTurn = process.lock !== undefined;
  switch (operation.kind) {
    case 'read':
      return [
        'crash',
        'freeze3',
        'freeze100',
        'freeze1000',
        'throttle',
        ...(inTurn ? (['crashAndMessageLost'] as const) : []),
      ];
    case 'write':
      return [
        ...(['crash', 'freeze3', 'freeze100', 'freeze1000', 'lostAck', 'lateApply', 'throttle'] as const),
        ...(inTurn ? (['crashAndMessageLost', 'reboot'] as const) : []),
      ];
    case 'send':
      return ['crash', 'drop', 'duplicate'];
    case 'publish':
      return ['crash', 'crashAfter', 'freeze3', 'freeze100', 'lostAck', 'lateApply', 'throttle', 'partlyTaken'];
    case 'remote':
      return ['crash', 'freeze3', 'freeze100', 'freeze1000', ...(inTurn ? (['crashAndMessageLost'] as const) : [])];
    // A frozen sender may be late by the time between its look at the clock and its request, which nothing can prevent.
    case 'push':
      return ['crash', 'crashAfter', 'freeze3', 'refused', 'noReply'];
    case 'notice':
      return ['crash', 'crashAfter', 'freeze3', 'freeze100', 'refused', 'noReply'];
    case 'remoteCancel':
      return ['crash', 'freeze3', 'freeze100', 'refused', 'refused', 'refused'];
    case 'remoteStart':
      return [
        'crash',
        'freeze3',
        'freeze100',
        'freeze1000',
        'refused',
        'noReply',
        'noReplyLost',
        ...(inTurn ? (['crashAndMessageLost'] as const) : []),
      ];
  }
}
