import { defined } from '../base/defined.js';
import type { RunId } from '../base/ids.js';
import type { JsonValue, Stored } from '../base/json.js';
import { durationToMs, type Duration } from '../base/time.js';
import type { MemoryBus } from '../bus/memory-bus.js';
import type { RunOutcome } from '../history/event.js';
import type { LifecycleEvent } from '../history/lifecycle-event.js';
import type { RemoteAnswer } from '../history/remote-question.js';
import type { Deps } from '../operations/deps.js';
import { answerQuestion } from '../operations/requests/answer-question.js';
import { signalRun } from '../operations/requests/signal-run.js';
import { requestStop } from '../operations/requests/stop-run.js';
import type { QuestionView } from '../operations/views/question-view.js';
import { listQuestions } from '../operations/views/list-questions.js';
import { settleToken } from '../operations/requests/settle-token.js';
import { startRun } from '../operations/requests/start-run.js';
import { externalWaitsOf } from '../operations/views/list-external-waits.js';
import { queryRun } from '../operations/views/query-run.js';
import { readHistory, type HistoryView } from '../operations/views/read-history.js';
import { showRun, type RunView } from '../operations/views/show-run.js';
import type { App } from '../workflow/app.js';
import type { AnyValue, Workflow } from '../workflow/define-workflow.js';
import { EngineLoop } from './engine-loop.js';
import { expectCleanReplay } from './expect-clean-replay.js';
import { createTestDeps, type TestAppOptions } from './test-deps.js';
import type { VirtualClock } from './virtual-clock.js';

export interface RunToEndOptions {
  /** Of virtual time; default 400 days. */
  readonly within?: Duration;
  readonly replay?: boolean;
  readonly follow?: boolean;
  readonly allowDropped?: boolean;
}

declare const outputOf: unique symbol;
/** Id of a run that a test has started, with the type of what its workflow gives. */
export type StartedRun<Output> = RunId & { readonly [outputOf]?: Output };
/** How a run ended, with what is left of its result in JSON. */
export type RunEnd<Output> =
  | { readonly status: 'completed'; readonly result: Stored<Output> }
  | Exclude<RunOutcome, { readonly status: 'completed' }>;

/**
 * The engine in memory, on a clock that skips whatever nobody does anything in: a sleep of 30 days takes milliseconds.
 * The code that runs is the engine's own; only table, queues, clock and servers are stand-ins.
 */
export class TestApp {
  readonly clock: VirtualClock;
  /** @internal */
  readonly deps: Deps;
  readonly #bus: MemoryBus | undefined;
  readonly #loop: EngineLoop;
  #app: App;

  constructor(app: App, options: TestAppOptions = {}) {
    this.#app = app;
    const parts = createTestDeps(() => this.#app, options);
    this.clock = parts.clock;
    this.deps = parts.deps;
    this.#bus = parts.bus;
    this.#loop = new EngineLoop(parts);
  }

  /** Starts a run; nothing of it runs yet. */
  async start<Output, Given>(
    workflow: Workflow<AnyValue, Output, Given>,
    input?: NoInfer<Given>,
    options: { readonly key?: string; readonly tags?: Readonly<Record<string, string>> } = {},
  ): Promise<StartedRun<Output>> {
    const given = input as JsonValue | undefined;
    const { runId } = await startRun(this.deps, { workflow: workflow.name, ...defined({ input: given }), ...options });
    return runId;
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

  /** Gives a run a signal. False: the run has ended. */
  async signal(runId: RunId, name: string, payload?: JsonValue, key?: string): Promise<boolean> {
    const signal = { name, ...defined({ payload, key }) };
    return (await signalRun(this.deps, runId, signal)).accepted;
  }

  /** Questions that wait for a person, of all runs, oldest first. */
  async inputs(): Promise<readonly QuestionView[]> {
    return (await listQuestions(this.deps, { limit: 100 })).inputs;
  }

  /** Answers one of them. False: somebody else was first, or the run has ended. */
  async answer(inputId: string, answer: RemoteAnswer): Promise<boolean> {
    return (await answerQuestion(this.deps, inputId, answer)).answered;
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
      await this.#loop.runUntilQuiet(waitForSteps);
      const nextAtMs = await this.#loop.nextAtMs();
      if (nextAtMs > untilMs) break;
      this.clock.moveTo(nextAtMs);
    }
    this.clock.moveTo(untilMs);
    await this.#loop.runUntilQuiet(waitForSteps);
  }

  /**
   * Handles every message that is visible now, and those that they cause. Steps run for real: time stands still while one
   * is under way. Only a long step that nobody waits for any more is given the time to notice that, at most 20 s.
   */
  async settleDown(): Promise<void> {
    await this.#loop.runUntilQuiet(true);
  }
}

/**
 * Makes an engine in memory for the workflows of `app`.
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
