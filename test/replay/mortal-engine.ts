import { loadAnswerContent } from '../../lib/operations/requests/answer-question.js';
import { loadLimitedStart } from '../../lib/operations/requests/start-run.js';
import { loadLostStart } from '../../lib/operations/remote-task/stop-remote.js';
import { loadTaskHint } from '../../lib/operations/turn/end-run.js';
import { loadSendParts } from '../../lib/operations/serve/tasks.js';
import { loadGeneration } from '../../lib/operations/turn/next-run.js';
import { loadNextRun } from '../../lib/operations/turn/end-run.js';
import { loadRareParts } from '../../lib/operations/turn/load-rare-parts.js';
import { createHash } from 'node:crypto';
import type { App } from 'outwait';
import type { ScriptedServer } from '../../lib/testing/scripted-server.js';
import type { Random, RunId } from '../../lib/base/ids.js';
import { sweepIntervalMs, turnTimeoutMs, turnVisibilityMs } from '../../lib/base/limits.js';
import { silentLog } from '../../lib/base/log.js';
import type { EpochMs } from '../../lib/base/time.js';
import type { Commit, RunOutcome } from '../../lib/history/event.js';
import type { Deps } from '../../lib/operations/deps.js';
import { drainMicrotasks } from '../../lib/process/drain.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { handleWork } from '../../lib/operations/sweep/handle-work.js';
import { replayRecords } from '../../lib/operations/replay-run.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { settleToken, type SettleRequest } from '../../lib/operations/requests/settle-token.js';
import { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { Queues, TurnMessage, WorkMessage } from '../../lib/queue/queue.js';
import { toToken } from '../../lib/store/items/token.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import type { ExecutionStatus } from '../../lib/replay/execution.js';
import { RunStore } from '../../lib/store/run-store.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import type { Item } from '../../lib/store/table.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { seeded } from '../simulation/random.js';
import { dying, processOf, type Around } from '../support/ports.js';

// Loaded before the first turn: a turn that waits for code makes other calls than one that has it.
await Promise.all([
  loadAnswerContent(),
  loadLimitedStart(),
  loadLostStart(),
  loadNextRun(),
  loadGeneration(),
  loadTaskHint(),
  loadRareParts(),
  loadSendParts(),
  new RunStore(new MemoryTable()).limitedStarts(),
]);

export interface MortalEngineOptions {
  readonly app: App;
  readonly servers: Readonly<Record<string, ScriptedServer>>;
  readonly seed: number;
  readonly fault?: Fault;
}

/**
 * A fault before call number `at` through a port, counted from 0 over all processes: the process dies, or the message
 * that it sends is lost, or, if it is a turn, another turn of the same run takes place from its beginning to its end.
 */
export interface Fault {
  readonly kind: 'death' | 'loss' | 'secondOwner';
  readonly at: number;
}

interface Push {
  readonly atMs: EpochMs;
  readonly taskId: string;
  readonly outcome: SettleRequest['outcome'];
}

const startMs = Date.UTC(2026, 0, 1);

/**
 * The engine in memory, one process after the other, on a clock that skips idle time. A process can die at one of its
 * calls; another process then repeats its work at the same instant, so that a death delays only the claim of a poll.
 */
export class MortalEngine {
  /** Names of the calls so far. */
  readonly calls: string[] = [];
  /** Numbers of the calls that turns made. */
  readonly callsOfTurns = new Set<number>();
  /** Commits that were refused. */
  refusedCommits = 0;
  readonly clock = new VirtualClock(startMs);
  readonly #options: MortalEngineOptions;
  readonly #items = new Map<string, Item>();
  readonly #table = new MemoryTable({
    onApplied: (items) => {
      for (const item of items) this.#items.set(`${item.pk} ${item.sk}`, item);
    },
  });
  readonly #queues: MemoryQueues;
  readonly #deps: Deps;
  #lastSweepAtMs: EpochMs = startMs;
  #processes = 0;
  readonly #pushes: Push[] = [];

  constructor(options: MortalEngineOptions) {
    this.#options = options;
    for (const [name, server] of Object.entries(options.servers)) server.connect(name, this.clock);
    const rules = { visibilityMs: turnVisibilityMs, maxReceiveCount: 5 };
    this.#queues = new MemoryQueues({ turn: rules, work: rules, step: rules, clock: this.clock });
    this.#deps = {
      app: options.app,
      store: new RunStore(new SealedTable(this.#table)),
      queues: this.#queues,
      transports: { get: (name) => options.servers[name]! },
      tokens: new TokenKeys([{ keyId: 'test', secret: new Uint8Array(32) }]),
      clock: this.clock,
      random: randomOf(options.seed),
      digest: (text) => createHash('sha256').update(text).digest('hex'),
      drain: drainMicrotasks,
      delay: (delayMs, signal) => this.clock.delay(delayMs, signal),
      log: silentLog,
    };
  }

  /** Settles the wait of a remote task from outside, after that many seconds. */
  pushAfter(seconds: number, taskId: string, outcome: SettleRequest['outcome']): void {
    this.#pushes.push({ atMs: this.clock.nowMs() + seconds * 1_000, taskId, outcome });
    this.#pushes.sort((a, b) => a.atMs - b.atMs);
  }

  /**
   * Runs one process; if it dies, another one repeats its work. `turnOf`: it is a turn of that run. `draws`: number of
   * the random numbers that it gets each time; default: new ones.
   */
  async invoke(
    body: (deps: Deps, deliveryCount: number) => Promise<unknown>,
    { turnOf, draws }: { readonly turnOf?: RunId; readonly draws?: number } = {},
  ): Promise<void> {
    for (let deliveryCount = 1; ; deliveryCount++) {
      const { around, death } = dying((name) => {
        this.calls.push(name);
        if (turnOf !== undefined) this.callsOfTurns.add(this.calls.length - 1);
        return this.#isNow('death');
      });
      const shared: Around = (name, call) =>
        around(name, async () => {
          if (turnOf !== undefined && this.#isNow('secondOwner')) await this.#secondOwner(turnOf);
          return call();
        });
      const process = this.#process(shared, draws);
      const end = await Promise.race([body(process, deliveryCount).then(() => 'done'), death.then(() => 'dead')]);
      if (end === 'done') return;
    }
  }

  #isNow(kind: Fault['kind']): boolean {
    const { fault } = this.#options;
    return fault?.kind === kind && fault.at === this.calls.length - 1;
  }

  #process(around: Around, draws = ++this.#processes): Deps {
    const queues: Queues = {
      sendTurn: async (...message) => {
        if (!this.#isNow('loss')) await this.#queues.sendTurn(...message);
      },
      sendWork: (...message) => this.#queues.sendWork(...message),
      sendStep: (...message) => this.#queues.sendStep(...message),
      sendStart: (...message) => this.#queues.sendStart(...message),
    };
    const watched: Around = async (name, call) => {
      const value = await around(name, call);
      if (name === 'table.commit' && !(value as { readonly ok: boolean }).ok) this.refusedCommits++;
      return value;
    };
    const random = randomOf(this.#options.seed * 1_000_003 + draws);
    return processOf({ ...this.#deps, queues, random }, this.#table, watched);
  }

  async #secondOwner(runId: RunId): Promise<void> {
    const process = this.#process((_, call) => call());
    await runTurn(process, { runId }, { remainingMs: () => turnTimeoutMs });
  }

  /** Advances time to that many seconds after the start: everything due happens at its instant. */
  async moveTo(seconds: number): Promise<void> {
    const untilMs = startMs + seconds * 1_000;
    await this.#settleDown();
    for (let nextAtMs = this.#nextAtMs(); nextAtMs <= untilMs; nextAtMs = this.#nextAtMs()) {
      this.clock.moveTo(nextAtMs);
      await this.#settleDown();
    }
    this.clock.moveTo(untilMs);
    await this.#settleDown();
  }

  /** Continues until the run has ended. @throws Error if it has not ended after 400 days */
  async end(runId: RunId): Promise<RunOutcome> {
    for (;;) {
      await this.#settleDown();
      if (this.#items.get(`run#${runId} a`)?.['endedAtMs'] !== undefined) {
        const events = (await this.commits(runId)).flatMap((commit) => commit.events);
        const ending = events.find((event) => event.type === 'RunEnding');
        if (ending === undefined) throw new Error('the head says that the run has ended, its log does not');
        return ending.outcome;
      }
      const nextAtMs = this.#nextAtMs();
      if (nextAtMs > startMs + 400 * 86_400_000) throw new Error('the run has not ended');
      this.clock.moveTo(nextAtMs);
    }
  }

  get runIds(): readonly RunId[] {
    return [...this.#items.values()].flatMap(({ pk, sk }) =>
      sk === 'a' && pk.startsWith('run#') ? [pk.slice('run#'.length)] : [],
    );
  }

  async commits(runId: RunId): Promise<readonly Commit[]> {
    return (await this.#deps.store.runs.read(runId))?.commits ?? [];
  }

  /** Replays the workflow's code against the recorded history. */
  async replay(runId: RunId): Promise<ExecutionStatus> {
    const records = await this.#deps.store.runs.read(runId);
    if (records === undefined) throw new Error('the run is gone');
    return (await replayRecords(this.#deps, records)).status;
  }

  /** Handles every message that is visible now, and the messages that these cause, one after the other. */
  async #settleDown(): Promise<void> {
    for (;;) {
      for (let push = this.#duePush(); push !== undefined; push = this.#duePush()) await this.#settle(push);
      if (this.clock.nowMs() - this.#lastSweepAtMs >= sweepIntervalMs) {
        this.#lastSweepAtMs = this.clock.nowMs();
        await this.invoke((deps) => fanOutDue(deps));
      }
      const [turn] = this.#queues.turn.receive(1);
      const [work] = this.#queues.work.receive(1);
      if (turn === undefined && work === undefined) return;
      if (turn !== undefined) {
        const endsAtMs = this.clock.nowMs() + turnTimeoutMs;
        const remainingMs = (): number => endsAtMs - this.clock.nowMs();
        const message = JSON.parse(turn.body) as TurnMessage;
        await this.invoke((deps, deliveryCount) => runTurn(deps, message, { remainingMs, deliveryCount }), {
          turnOf: message.runId,
        });
        this.#queues.turn.deleteMessage(turn.receiptHandle);
      }
      if (work !== undefined) {
        const message = JSON.parse(work.body) as WorkMessage;
        await this.invoke((deps) => handleWork(deps, message));
        this.#queues.work.deleteMessage(work.receiptHandle);
      }
    }
  }

  #duePush(): Push | undefined {
    return (this.#pushes[0]?.atMs ?? Infinity) <= this.clock.nowMs() ? this.#pushes.shift() : undefined;
  }

  async #settle({ taskId, outcome }: Push): Promise<void> {
    const tokens = [...this.#items.values()].filter(({ sk }) => sk.startsWith('t#')).map(toToken);
    const wait = tokens.find(({ handle }) => handle?.taskId === taskId);
    // Its token was handed to no one, since the wait was closed while the task started.
    if (wait === undefined) return;
    const token = this.#deps.tokens.settleToken(wait);
    await this.invoke((deps) => settleToken(deps, { token, outcome }));
  }

  /** Returns the next instant at which something is due; sweeps that would find nothing are left out. */
  #nextAtMs(): EpochMs {
    const dueAtMs = [...this.#items.values()].map((item) => Number(item['dueAtMs'] ?? Infinity));
    const sweepAtMs = this.#lastSweepAtMs + sweepIntervalMs;
    const idleMs = Math.max(0, Math.min(...dueAtMs) - sweepIntervalMs - sweepAtMs);
    return Math.min(
      sweepAtMs + Math.floor(idleMs / sweepIntervalMs) * sweepIntervalMs,
      this.#queues.nextChangeAtMs() ?? Infinity,
      this.clock.nextDelayAtMs() ?? Infinity,
      this.#pushes[0]?.atMs ?? Infinity,
    );
  }
}

function randomOf(seed: number): Random {
  const fraction = seeded(seed);
  const byte = (): string =>
    Math.floor(fraction() * 256)
      .toString(16)
      .padStart(2, '0');
  return { fraction, hex: (count) => Array.from({ length: count }, byte).join('') };
}
