import { defined } from '../base/defined.js';
import { createHash } from 'node:crypto';
import { setImmediate as eventLoop } from 'node:timers/promises';
import { EngineError } from '../base/errors.js';
import type { Random, RunId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { stepFunctionTimeoutMs, sweepIntervalMs, turnTimeoutMs, turnVisibilityMs } from '../base/limits.js';
import { silentLog, type Log } from '../base/log.js';
import { durationToMs, type Duration, type EpochMs } from '../base/time.js';
import { MemoryBus } from '../bus/memory-bus.js';
import type { RunOutcome } from '../history/event.js';
import type { LifecycleEvent } from '../history/lifecycle-event.js';
import type { RemoteAnswer } from '../history/remote-question.js';
import type { Deps } from '../operations/deps.js';
import { drainMicrotasks } from '../process/drain.js';
import { fanOutDue } from '../operations/sweep/fan-out-due.js';
import { handleWork } from '../operations/sweep/handle-work.js';
import { readHistory, type HistoryView } from '../operations/views/read-history.js';
import { showRun, type RunView } from '../operations/views/show-run.js';
import { externalWaitsOf } from '../operations/views/list-external-waits.js';
import { answerInput } from '../operations/requests/answer-input.js';
import { listInputs } from '../operations/views/list-inputs.js';
import type { InputView } from '../operations/views/input-view.js';
import { replayRecords } from '../operations/replay-run.js';
import { queryRun } from '../operations/views/query-run.js';
import { requestStop } from '../operations/requests/stop-run.js';
import { signalRun } from '../operations/requests/signal-run.js';
import { settleToken } from '../operations/requests/settle-token.js';
import { makeRemoteStart } from '../operations/remote-task/make-remote-start.js';
import { runLongStep } from '../operations/steps/run-long-step.js';
import { runTurn } from '../operations/turn/run-turn.js';
import { startRun } from '../operations/requests/start-run.js';
import { WarmRuns } from '../operations/warm-runs.js';
import { isScheduleWaiting, tickSchedules } from '../operations/schedules/tick-schedules.js';
import type { ReceivedMessage } from '../queue/memory-queue.js';
import { MemoryQueues } from '../queue/memory-queues.js';
import { oneTurnFor } from '../queue/one-turn.js';
import type { StartMessage, StepMessage, TurnMessage, WorkMessage } from '../queue/queue.js';
import { protectTransports } from '../remote/guard/protection.js';
import type { RemoteTransports } from '../remote/transport.js';
import type { PayloadCipher } from '../store/cipher.js';
import { MemoryTable } from '../store/memory/memory-table.js';
import { RunStore } from '../store/run-store.js';
import { SealedTable } from '../store/sealed-table.js';
import { TokenKeys } from '../tokens/token-keys.js';
import type { App } from '../workflow/app.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { ScriptedServer } from './scripted-server.js';
import { VirtualClock } from './virtual-clock.js';

export interface TestAppOptions {
  /** In place of the servers of the app's configuration, by name. */
  readonly servers?: Readonly<Record<string, ScriptedServer>>;
  /** Default: 2026-01-01T00:00:00Z. */
  readonly startAtMs?: EpochMs;
  /** Seed of all ids and random numbers. Default 1. */
  readonly seed?: number;
  /** Encrypts payloads, as a deployment would. Default: none. */
  readonly cipher?: PayloadCipher;
  /** There is a bus, which keeps what it is told for `lifecycleEvents`. Default: false. */
  readonly bus?: boolean;
  readonly log?: Log;
}

const defaultStartMs = Date.UTC(2026, 0, 1);

/**
 * The engine in memory, on a clock that skips whatever nobody does anything in: a sleep of 30 days takes milliseconds.
 * The code that runs is the engine's own; only table, queues, clock and servers are stand-ins.
 */
export class TestApp {
  readonly clock: VirtualClock;
  readonly deps: Deps;
  readonly #queues: MemoryQueues;
  readonly #bus: MemoryBus | undefined;
  #app: App;
  #lastSweepAtMs: EpochMs;
  /** Attempts of long steps that are under way. */
  readonly #attempts = new Map<Promise<void>, StepMessage>();
  /** Starts that workers make and that are not answered yet; time goes on meanwhile. */
  readonly #starts = new Set<Promise<void>>();
  readonly #changeListeners = new Set<() => void>();

  constructor(app: App, options: TestAppOptions = {}) {
    this.#app = app;
    const deployed = (): App => this.#app;
    const clock = new VirtualClock(options.startAtMs ?? defaultStartMs);
    const servers = options.servers ?? {};
    for (const [name, server] of Object.entries(servers)) server.connect(name, clock);
    this.clock = clock;
    this.#queues = new MemoryQueues({
      turn: { visibilityMs: turnVisibilityMs, maxReceiveCount: 5 },
      work: { visibilityMs: turnVisibilityMs, maxReceiveCount: 5 },
      step: { visibilityMs: 6 * stepFunctionTimeoutMs, maxReceiveCount: 5 },
      start: { visibilityMs: 6 * stepFunctionTimeoutMs, maxReceiveCount: 5 },
      clock,
      onChange: () => {
        for (const listener of this.#changeListeners) listener();
        this.#changeListeners.clear();
      },
    });
    this.#lastSweepAtMs = clock.nowMs();
    const random = seededRandom(options.seed ?? 1);
    const delay: Deps['delay'] = (delayMs, signal) => clock.delay(delayMs, signal);
    const log = options.log ?? silentLog;
    this.#bus = options.bus === true ? new MemoryBus() : undefined;
    const store = new RunStore(new SealedTable(new MemoryTable(), options.cipher));
    const transports: RemoteTransports = {
      get: (name) => {
        const server = servers[name];
        if (server === undefined) throw new EngineError('SERVER_NOT_FOUND', `the test has no server "${name}"`);
        return server;
      },
    };
    this.deps = {
      get app() {
        return deployed();
      },
      store,
      queues: this.#queues,
      transports: protectTransports(transports, (name) => deployed().servers[name]?.limits, {
        states: store.servers,
        // A draw of its own: how busy a server is must not change the ids of a test.
        random: seededRandom((options.seed ?? 1) + 1),
        clock,
        delay,
        log,
      }),
      tokens: new TokenKeys([{ keyId: 'test', secret: new Uint8Array(32) }]),
      clock,
      random,
      digest: (text) => createHash('sha256').update(text).digest('hex'),
      drain: drainMicrotasks,
      delay,
      log,
      ...defined({ bus: this.#bus }),
      warmRuns: new WarmRuns(),
    };
  }

  /** Starts a run; nothing of it runs yet. */
  async start(workflow: AnyWorkflow, input?: JsonValue, options: { readonly key?: string } = {}): Promise<RunId> {
    const started = await startRun(this.deps, {
      workflow: workflow.name,
      ...defined({ input }),
      ...options,
    });
    return started.runId;
  }

  async cancel(runId: RunId, reason?: string): Promise<boolean> {
    return (await requestStop(this.deps, { runId, kind: 'cancel', ...defined({ reason }) })).accepted;
  }

  /** Puts `app` in place of the one before, as a deploy does: runs that are under way go on with its code. */
  deploy(app: App): void {
    this.#app = app;
  }

  async show(runId: RunId): Promise<RunView> {
    return showRun(this.deps, runId);
  }

  async history(runId: RunId): Promise<HistoryView> {
    return readHistory(this.deps, runId);
  }

  /** What the bus has been told so far, of all runs. @throws Error when the test app was made without `bus: true` */
  lifecycleEvents(): readonly LifecycleEvent[] {
    if (this.#bus === undefined) throw new Error('the test app has no bus; make it with { bus: true }');
    return [...this.#bus.events];
  }

  /**
   * Runs everything until the run has ended, skipping time, and gives its outcome; of one that goes on as another run, that
   * of the last run (`follow: false`: its own). Then replays its history and expects the same (`replay: false` leaves that
   * out), and that nothing was asked for on its last way without waiting for it, unless the run failed (`allowDropped: true`
   * leaves that out).
   * @throws Error when it has not ended after `within` (default 400 days) of virtual time; it says what the run waits for
   */
  async runToEnd(
    runId: RunId,
    options: {
      readonly within?: Duration;
      readonly replay?: boolean;
      readonly follow?: boolean;
      readonly allowDropped?: boolean;
    } = {},
  ): Promise<RunOutcome> {
    let current = runId;
    const untilMs = this.clock.nowMs() + durationToMs(options.within ?? { days: 400 }, 'within');
    for (;;) {
      await this.settleDown();
      const run = await this.show(current);
      if (run.endedAtMs !== undefined && run.outcome !== undefined) {
        const mayDrop = options.allowDropped === true || run.outcome.status === 'failed';
        const { nextRunId } = run;
        const isThere = nextRunId !== undefined && (await this.deps.store.readHead(nextRunId)) !== undefined;
        if (options.follow === false || nextRunId === undefined || isThere) {
          if (options.replay !== false) await this.#expectCleanReplay(current, mayDrop);
          if (options.follow === false || nextRunId === undefined) return run.outcome;
          current = nextRunId;
          continue;
        }
      }
      const nextAtMs = await this.#nextAtMs();
      if (run.blocked !== undefined) throw new Error(`the run is blocked: ${run.blocked.message}`);
      if (nextAtMs > untilMs) throw new Error(`the run has not ended; it waits for ${JSON.stringify(run.waits)}`);
      this.clock.moveTo(nextAtMs);
    }
  }

  async #expectCleanReplay(runId: RunId, mayDrop: boolean): Promise<void> {
    const records = await this.deps.store.readRun(runId);
    if (records === undefined) return;
    const { status, dropped } = await replayRecords(this.deps, records);
    if (status.kind === 'blocked') throw new Error(`the history does not replay: ${status.error.message}`);
    if (mayDrop || dropped.length === 0) return;
    const what = dropped.map(({ kind, name }) => `${kind} "${name}"`).join(', ');
    throw new Error(
      `the run ended without waiting for what it had just asked for, so it may never happen: ${what}. Await it, or close it with ctx.race; a child with parentClose 'abandon' and a call with onCancel 'leave' are started when the run ends, but not when their race or scope does. { allowDropped: true } leaves this check out.`,
    );
  }

  /** Gives a run a signal. False: the run has ended. */
  async signal(runId: RunId, name: string, payload?: JsonValue, key?: string): Promise<boolean> {
    const signal = { name, ...defined({ payload, key }) };
    return (await signalRun(this.deps, runId, signal)).accepted;
  }

  /** Questions that wait for a person, of all runs, oldest first. */
  async inputs(): Promise<readonly InputView[]> {
    return (await listInputs(this.deps, { limit: 100 })).inputs;
  }

  /** Answers one of them. False: somebody else was first, or the run has ended. */
  async answer(inputId: string, answer: RemoteAnswer): Promise<boolean> {
    return (await answerInput(this.deps, inputId, answer)).answered;
  }

  /** Settles the wait of a token. False: somebody else was first, or the run has ended. */
  async settle(token: string, result: JsonValue, isError = false): Promise<boolean> {
    return (await settleToken(this.deps, { token, outcome: { kind: 'completed', result, isError } })).settled;
  }

  /** Settles the wait of a token as failed. */
  async fail(token: string, message: string): Promise<boolean> {
    return (await settleToken(this.deps, { token, outcome: { kind: 'failed', message } })).settled;
  }

  /** The token of the one open external or remote wait of that name. @throws Error when there is none, or more than one */
  async tokenOf(runId: RunId, name: string): Promise<string> {
    const waits = (await externalWaitsOf(this.deps, runId)).filter((wait) => wait.name === name);
    const [wait] = waits;
    if (wait === undefined || waits.length > 1)
      throw new Error(`the run has ${waits.length} open waits named "${name}"`);
    return wait.token;
  }

  /** Asks the workflow as it stands. */
  async query(runId: RunId, name: string, input?: JsonValue): Promise<JsonValue | undefined> {
    return (await queryRun(this.deps, runId, name, input)).result;
  }

  /**
   * Lets `duration` pass: everything due in it happens at its instant. `whileStepsRun`: also while long steps are under
   * way, for those that go on until something ends them.
   */
  async pass(duration: Duration, options: { readonly whileStepsRun?: boolean } = {}): Promise<void> {
    const untilMs = this.clock.nowMs() + durationToMs(duration, 'duration');
    const waitForSteps = options.whileStepsRun !== true;
    for (;;) {
      await this.#settle(waitForSteps);
      const nextAtMs = await this.#nextAtMs();
      if (nextAtMs > untilMs) break;
      this.clock.moveTo(nextAtMs);
    }
    this.clock.moveTo(untilMs);
    await this.#settle(waitForSteps);
  }

  /**
   * Handles every message that is visible now, and those that they cause. Steps run for real: time stands still while one
   * is under way. Only a long step that nobody waits for any more is given the time to notice that, at most 20 s.
   */
  async settleDown(): Promise<void> {
    await this.#settle(true);
  }

  async #settle(waitForSteps: boolean): Promise<void> {
    for (;;) {
      if (this.clock.nowMs() - this.#lastSweepAtMs >= sweepIntervalMs) {
        this.#lastSweepAtMs = this.clock.nowMs();
        await fanOutDue(this.deps);
        await tickSchedules(this.deps);
      }
      // What steps do for real goes on, and a test that goes round for ever can still be ended.
      await eventLoop();
      const change = this.#nextChange();
      const turns = this.#queues.turn.receive(10);
      const work = this.#queues.work.receive(10);
      const steps = this.#queues.step.receive(10);
      const starts = this.#queues.start.receive(10);
      for (const message of steps) this.#beginStep(message);
      for (const message of starts) this.#beginStart(message);
      if (turns.length + work.length + steps.length + starts.length === 0) {
        if (await this.#startsGoOn(change)) continue;
        if (this.#attempts.size === 0 || !waitForSteps) return;
        if (await this.#isUnwantedUnderWay()) this.clock.moveTo(this.clock.nextDelayAtMs() ?? 0);
        else await Promise.race([change, ...this.#attempts.keys()]);
        continue;
      }
      await Promise.all([
        ...[...byRun(turns).values()].map(async (messages) => {
          const endsAtMs = this.clock.nowMs() + turnTimeoutMs;
          const message = oneTurnFor(messages.map(({ body }) => JSON.parse(body) as TurnMessage));
          if (message !== undefined)
            await runTurn(this.deps, message, { remainingMs: () => endsAtMs - this.clock.nowMs() });
          for (const { receiptHandle } of messages) this.#queues.turn.deleteMessage(receiptHandle);
        }),
        ...work.map(async ({ body, receiptHandle }) => {
          await handleWork(this.deps, JSON.parse(body) as WorkMessage);
          this.#queues.work.deleteMessage(receiptHandle);
        }),
      ]);
    }
  }

  /** Side by side with whatever else happens: a cancel must reach a step that is under way. */
  #beginStep({ body, receiptHandle }: ReceivedMessage): void {
    const message = JSON.parse(body) as StepMessage;
    const endsAtMs = this.clock.nowMs() + stepFunctionTimeoutMs;
    const attempt = runLongStep(this.deps, message, { remainingMs: () => endsAtMs - this.clock.nowMs() }).then(() => {
      this.#queues.step.deleteMessage(receiptHandle);
    });
    const ended = attempt.finally(() => {
      this.#attempts.delete(ended);
    });
    this.#attempts.set(ended, message);
  }

  /** A worker waits for its server, and time with it. */
  #beginStart({ body, receiptHandle }: ReceivedMessage): void {
    const endsAtMs = this.clock.nowMs() + stepFunctionTimeoutMs;
    const limits = { remainingMs: () => endsAtMs - this.clock.nowMs() };
    const start = makeRemoteStart(this.deps, JSON.parse(body) as StartMessage, limits).then(() => {
      this.#queues.start.deleteMessage(receiptHandle);
    });
    const ended = start.finally(() => {
      this.#starts.delete(ended);
    });
    this.#starts.add(ended);
  }

  /** Lets workers do what they can without time passing. True: there is something new. */
  async #startsGoOn(change: Promise<void>): Promise<boolean> {
    if (this.#starts.size === 0) return false;
    let isNew = false;
    const noted = (): void => {
      isNew = true;
    };
    change.then(noted, noted);
    for (let round = 0; round < 10; round++) await eventLoop();
    return isNew;
  }

  async #isUnwantedUnderWay(): Promise<boolean> {
    for (const { runId, waitId } of this.#attempts.values())
      if ((await this.deps.store.readToken(runId, waitId))?.settlement !== undefined) return true;
    return false;
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#changeListeners.add(resolve);
    });
  }

  async #nextAtMs(): Promise<EpochMs> {
    return Math.min(
      await this.#nextSweepAtMs(),
      this.#queues.nextChangeAtMs() ?? Infinity,
      this.clock.nextDelayAtMs() ?? Infinity,
    );
  }

  /** A sweep sees what is due within the next interval; those that would see nothing are left out. */
  async #nextSweepAtMs(): Promise<EpochMs> {
    const waiting = await Promise.all(
      this.deps.app.schedules.map((schedule) => isScheduleWaiting(this.deps, schedule)),
    );
    if (waiting.some(Boolean)) return this.#lastSweepAtMs + sweepIntervalMs;
    const dueShards = await this.deps.store.readDueShards();
    const pages = await Promise.all(
      Array.from({ length: dueShards }, (_, shard) => this.deps.store.listDue(shard, Number.MAX_SAFE_INTEGER, 1)),
    );
    const ticks = await Promise.all(
      this.deps.app.schedules.map((schedule) => schedule.nextAfterMs(this.#lastSweepAtMs)),
    );
    const earliestDueAtMs = Math.min(
      ...pages.flatMap((page) => page.rows.map((row) => row.dueAtMs)),
      ...ticks.map((atMs) => atMs ?? Infinity),
    );
    const nextAtMs = this.#lastSweepAtMs + sweepIntervalMs;
    const idleMs = Math.max(0, earliestDueAtMs - sweepIntervalMs - nextAtMs);
    return nextAtMs + Math.floor(idleMs / sweepIntervalMs) * sweepIntervalMs;
  }
}

/** Messages of one run that are received together ask for one turn. */
function byRun(messages: readonly ReceivedMessage[]): Map<string | undefined, ReceivedMessage[]> {
  const runs = new Map<string | undefined, ReceivedMessage[]>();
  for (const message of messages) runs.set(message.groupId, [...(runs.get(message.groupId) ?? []), message]);
  return runs;
}

export function createTestApp(app: App, options: TestAppOptions = {}): TestApp {
  return new TestApp(app, options);
}

/** mulberry32: small, and good enough for ids of a test. */
function seededRandom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return {
    fraction: () => next() / 2 ** 32,
    hex: (count) => Array.from({ length: count }, () => (next() & 0xff).toString(16).padStart(2, '0')).join(''),
  };
}
