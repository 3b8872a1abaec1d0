import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { JsonValue, Stored } from '../base/json.js';
import { durationToMs, type Duration } from '../base/time.js';
import type { MemoryBus } from '../bus/memory-bus.js';
import type { RunOutcome } from '../history/event.js';
import type { LifecycleEvent } from '../history/lifecycle-event.js';
import type { RunSummary } from '../history/records.js';
import type { RemoteAnswer } from '../history/remote-question.js';
import type { Deps } from '../operations/deps.js';
import { type Received, receiveDelivery, takeDelivery } from '../operations/requests/receive-delivery.js';
import { answerQuestion } from '../operations/requests/answer-question.js';
import { requestControl } from '../operations/requests/control-run.js';
import { type HeartbeatResult, heartbeatToken } from '../operations/requests/heartbeat-token.js';
import { signalRun } from '../operations/requests/signal-run.js';
import { requestStop } from '../operations/requests/stop-run.js';
import type { QuestionView } from '../operations/views/question-view.js';
import { type ListQuery, listRuns } from '../operations/views/list-runs.js';
import { listQuestions } from '../operations/views/list-questions.js';
import { settleToken } from '../operations/requests/settle-token.js';
import { startNamedRun } from '../operations/requests/start-named-run.js';
import { startOrSignal, startRun } from '../operations/requests/start-run.js';
import { externalWaitsOf } from '../operations/views/list-external-waits.js';
import { queryRun } from '../operations/views/query-run.js';
import { readHistory, type HistoryView } from '../operations/views/read-history.js';
import { showRun, type RunView } from '../operations/views/show-run.js';
import type { App } from '../workflow/app.js';
import type { HookEvent } from '../workflow/hook.js';
import type { AnyValue, Workflow } from '../workflow/define-workflow.js';
import { EngineLoop } from './engine-loop.js';
import { expectCleanReplay } from './expect-clean-replay.js';
import { expectNoReads } from './expect-no-reads.js';
import type { MemoryMessenger, SentNotice } from './memory-messenger.js';
import type { SignedDelivery } from './signed-delivery.js';
import { createTestDeps, type TestAppOptions, type TestDeps } from './test-deps.js';
import type { VirtualClock } from './virtual-clock.js';

/** Options of `TestApp.runToEnd`. */
export interface RunToEndOptions {
  /** Longest virtual time until the end; default 400 days. */
  readonly within?: Duration;
  /** Whether to replay the history afterwards. Default true. */
  readonly replay?: boolean;
  /** Whether to follow the runs that continue this one. Default true. */
  readonly follow?: boolean;
  /** Whether the run may end without waiting for work that it has just requested. Default false. */
  readonly allowDropped?: boolean;
  /**
   * Whether the code of the workflow may read the clock, chance and the environment of the host, which are others at each
   * replay. Default false.
   */
  readonly allowReads?: boolean;
}

/** Options of `TestApp.start`: those of a start. */
export interface TestStartOptions {
  /** Your own id of the run. Excludes `key`. */
  readonly id?: string;
  readonly key?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly concurrencyKey?: string;
  readonly delay?: Duration;
  readonly timeout?: Duration;
  /** Sent with the start, or to the run that has the key already. */
  readonly signal?: { readonly name: string; readonly payload?: JsonValue };
}

declare const outputOf: unique symbol;
/** Id of a run that a test started, with the output type of its workflow. */
export type StartedRun<Output> = RunId & { readonly [outputOf]?: Output };
/** Outcome of a run, with its result in its JSON form. */
export type RunEnd<Output> =
  | { readonly status: 'completed'; readonly result: Stored<Output> }
  | Exclude<RunOutcome, { readonly status: 'completed' }>;

/**
 * The engine in memory, on a clock that skips idle time: a sleep of 30 days takes milliseconds. The code is the
 * engine's own; only table, queues, clock and servers are stand-ins.
 */
export class TestApp {
  readonly clock: VirtualClock;
  /** @internal */
  readonly deps: Deps;
  readonly #bus: MemoryBus | undefined;
  readonly #messenger: MemoryMessenger;
  readonly #loop: EngineLoop;
  readonly #reads: TestDeps['reads'];
  #app: App;

  constructor(app: App, options: TestAppOptions = {}) {
    this.#app = app;
    const parts = createTestDeps(() => this.#app, options);
    this.clock = parts.clock;
    this.deps = parts.deps;
    this.#bus = parts.bus;
    this.#messenger = parts.messenger;
    this.#loop = new EngineLoop(parts, { ticks: options.schedules === true });
    this.#reads = parts.reads;
  }

  /** Starts a run. Its code does not run until time is made to pass, for example by `runToEnd`. */
  async start<Output, Given>(
    workflow: Workflow<AnyValue, Output, Given>,
    input?: NoInfer<Given>,
    options: TestStartOptions = {},
  ): Promise<StartedRun<Output>> {
    const { id, key, delay, timeout, signal, ...more } = options;
    const request = {
      workflow: workflow.name,
      ...defined({
        input: input as JsonValue | undefined,
        delayMs: delay === undefined ? undefined : durationToMs(delay, 'delay'),
        timeoutMs: timeout === undefined ? undefined : durationToMs(timeout, 'timeout'),
      }),
      ...more,
    };
    if (id !== undefined && (key ?? signal) !== undefined)
      throw new EngineError('INPUT_INVALID', 'a start has an id, or a key, perhaps with a signal');
    if (id !== undefined) return (await startNamedRun(this.deps, { ...request, id })).runId;
    if (signal === undefined) return (await startRun(this.deps, { ...request, ...defined({ key }) })).runId;
    if (key === undefined) throw new EngineError('INPUT_INVALID', 'a start with a signal needs a key');
    return (await startOrSignal(this.deps, { ...request, key, signal })).runId;
  }

  /** Asks a run to cancel. Returns false if it has ended. */
  async cancel(runId: RunId, reason?: string): Promise<boolean> {
    return (await requestStop(this.deps, { runId, kind: 'cancel', ...defined({ reason }) })).accepted;
  }

  /** Ends a run without its code. Returns false if it has ended. */
  async terminate(runId: RunId, reason?: string): Promise<boolean> {
    return (await requestStop(this.deps, { runId, kind: 'terminate', ...defined({ reason }) })).accepted;
  }

  /** Pauses a run, for at most 24 h. Returns false if it has ended. */
  async pause(runId: RunId): Promise<boolean> {
    return (await requestControl(this.deps, runId, 'pause')).accepted;
  }

  /** Ends a pause. Returns false if the run has ended. */
  async resume(runId: RunId): Promise<boolean> {
    return (await requestControl(this.deps, runId, 'resume')).accepted;
  }

  /** Retries at once what waits for its next attempt, and a blocked run. Returns false if the run has ended. */
  async retryNow(runId: RunId): Promise<boolean> {
    return (await requestControl(this.deps, runId, 'retryNow')).accepted;
  }

  /** Extends the deadline of the wait of a token. @throws EngineError `INPUT_INVALID`, `TOKEN_INVALID` */
  async heartbeat(token: string, extendBy: Duration): Promise<HeartbeatResult> {
    return heartbeatToken(this.deps, { token, extendByMs: durationToMs(extendBy, 'extendBy') });
  }

  /** Returns the runs that match, newest first, at most 100. */
  async list(filter: Omit<ListQuery, 'limit' | 'cursor'> = {}): Promise<readonly RunSummary[]> {
    return (await listRuns(this.deps, { limit: 100, ...filter })).runs;
  }

  /** Replaces the app, like a deployment: open runs continue with the code of `app`. */
  deploy(app: App): void {
    this.#app = app;
  }

  async show(runId: RunId): Promise<RunView> {
    return showRun(this.deps, runId);
  }

  async history(runId: RunId): Promise<HistoryView> {
    return readHistory(this.deps, runId);
  }

  /** Returns the lifecycle events of all runs so far. @throws Error if the test app was created without `bus: true` */
  lifecycleEvents(): readonly LifecycleEvent[] {
    if (this.#bus === undefined) throw new Error('the test app has no bus; create it with { bus: true }');
    return [...this.#bus.events];
  }

  /**
   * Runs everything, skipping time, until the run has ended. Returns its outcome, or that of the last run if it
   * continues as others (unless `follow: false`). Then replays its history and expects the same result (unless `replay:
   * false`), and expects, unless the run failed, that it waited for all work that it requested just before its end
   * (unless `allowDropped: true`), and that its code did not read the clock, chance or the environment of the host
   * (unless `allowReads: true`).
   * @throws Error if the run has not ended within `within` (default 400 days) of virtual time: says what the run waits
   * for
   */
  runToEnd<Output>(runId: StartedRun<Output>, options?: RunToEndOptions): Promise<RunEnd<Output>>;
  runToEnd(runId: RunId, options?: RunToEndOptions): Promise<RunOutcome>;
  async runToEnd(runId: RunId, options: RunToEndOptions = {}): Promise<AnyValue> {
    let current = runId;
    const untilMs = this.clock.nowMs() + durationToMs(options.within ?? { days: 400 }, 'within');
    for (;;) {
      await this.settleDown();
      const run = await this.show(current);
      if (run.endedAtMs !== undefined && run.outcome !== undefined) {
        const mayDrop = options.allowDropped === true || run.outcome.status === 'failed';
        const { nextRunId } = run;
        const isThere = nextRunId !== undefined && (await this.deps.store.heads.read(nextRunId)) !== undefined;
        if (options.follow === false || nextRunId === undefined || isThere) {
          if (options.allowReads !== true) expectNoReads(this.#reads.get(current) ?? []);
          if (options.replay !== false) await expectCleanReplay(this.deps, current, mayDrop);
          if (options.follow === false || nextRunId === undefined) return run.outcome;
          current = nextRunId;
          continue;
        }
      }
      const nextAtMs = await this.#loop.nextAtMs();
      if (run.blocked !== undefined) throw new Error(`the run is blocked: ${run.blocked.message}`);
      if (nextAtMs > untilMs) throw new Error(`the run has not ended; it waits for ${JSON.stringify(run.waits)}`);
      this.clock.moveTo(nextAtMs);
    }
  }

  /** Sends a run a signal. Returns false if the run has ended. */
  async signal(runId: RunId, name: string, payload?: JsonValue, key?: string): Promise<boolean> {
    const signal = { name, ...defined({ payload, key }) };
    return (await signalRun(this.deps, runId, signal)).accepted;
  }

  /**
   * Sends a delivery to a hook as its sender, whose proof is not looked at: the function of the hook decides. The same
   * `deliveryId` is the same delivery. Default: a new one each time.
   * @throws Error if the function of the hook fails; its error is the `cause`
   */
  async deliver(
    hook: string,
    delivery: { readonly body: JsonValue; readonly headers?: HookEvent['headers']; readonly deliveryId?: string },
  ): Promise<Received> {
    const { body, headers = {}, deliveryId = this.deps.random.hex(16) } = delivery;
    return takeDelivery(this.deps, hook, { body, headers, deliveryId });
  }

  /**
   * Sends a request to a hook, which verifies it as in a deployment: `signedDelivery` makes one. The option `secrets` of
   * the test app has the secrets.
   * @throws EngineError `UNAUTHORIZED` if it is not genuine, and as `deliver`
   */
  async receive(hook: string, { headers, body }: SignedDelivery): Promise<Received> {
    return receiveDelivery(this.deps, { hook, headers, mediaType: 'json', body: Buffer.from(body) });
  }

  /** Returns the questions of all runs that wait for a person, oldest first. */
  async inputs(): Promise<readonly QuestionView[]> {
    return (await listQuestions(this.deps, { limit: 100 })).inputs;
  }

  /** Returns the notices that people have got of questions so far, in order. */
  notices(): readonly SentNotice[] {
    return [...this.#messenger.sent];
  }

  /** Answers a question of `inputs`. Returns false if it was answered before, or if the run has ended. */
  async answer(inputId: string, answer: RemoteAnswer): Promise<boolean> {
    return (await answerQuestion(this.deps, inputId, answer)).answered;
  }

  /** Settles the wait of a token. Returns false if it was settled before, or if the run has ended. */
  async settle(token: string, result: JsonValue, isError = false): Promise<boolean> {
    return (await settleToken(this.deps, { token, outcome: { kind: 'completed', result, isError } })).settled;
  }

  /** Settles the wait of a token as failed. Returns false as `settle` does. */
  async fail(token: string, message: string): Promise<boolean> {
    return (await settleToken(this.deps, { token, outcome: { kind: 'failed', message } })).settled;
  }

  /**
   * Returns the token of the only open external or remote wait with this name. @throws Error if there is not exactly
   * one
   */
  async tokenOf(runId: RunId, name: string): Promise<string> {
    const waits = (await externalWaitsOf(this.deps, runId)).filter((wait) => wait.name === name);
    const [wait] = waits;
    if (wait === undefined || waits.length > 1)
      throw new Error(
        `the run has ${waits.length} open waits named "${name}"${wait === undefined ? '; a run that was just started does nothing before await app.settleDown()' : ''}`,
      );
    return wait.token;
  }

  /** Sends the workflow a query (`ctx.onQuery`). */
  async query(runId: RunId, name: string, input?: JsonValue): Promise<JsonValue | undefined> {
    return (await queryRun(this.deps, runId, name, input)).result;
  }

  /**
   * Lets `duration` pass: everything due in it happens at its instant. `whileStepsRun`: does not wait for long steps,
   * for those that run until something ends them.
   */
  async pass(duration: Duration, options: { readonly whileStepsRun?: boolean } = {}): Promise<void> {
    const untilMs = this.clock.nowMs() + durationToMs(duration, 'duration');
    const waitForSteps = options.whileStepsRun !== true;
    for (;;) {
      await this.#loop.runUntilQuiet(waitForSteps);
      const nextAtMs = await this.#loop.nextAtMs();
      if (nextAtMs > untilMs) break;
      this.clock.moveTo(nextAtMs);
    }
    this.clock.moveTo(untilMs);
    await this.#loop.runUntilQuiet(waitForSteps);
  }

  /**
   * Handles every message that is visible now, and those that result from it. Steps run for real, while time stands
   * still; only a long step whose result is no longer needed is given time to notice that, at most 20 s.
   */
  async settleDown(): Promise<void> {
    await this.#loop.runUntilQuiet(true);
  }
}

/**
 * Creates an engine in memory for the workflows of `app`.
 * @example
 * ```ts
 * import { defineApp, defineWorkflow } from 'outwait';
 * import { createTestApp } from 'outwait/testing';
 *
 * const nap = defineWorkflow({ name: 'nap', run: async (ctx) => ctx.sleep({ days: 3 }) });
 *
 * const app = createTestApp(defineApp({ workflows: [nap] }));
 * const runId = await app.start(nap);
 * // Three days pass in milliseconds.
 * const { status } = await app.runToEnd(runId);
 * console.log(status);
 * ```
 */
export function createTestApp(app: App, options: TestAppOptions = {}): TestApp {
  return new TestApp(app, options);
}
