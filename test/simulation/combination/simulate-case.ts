import { startPatienceMs, startTakeMs } from '../../../lib/base/limits.js';
import { pauseSchedule } from '../../../lib/operations/schedules/pause-schedule.js';
import { requestControl } from '../../../lib/operations/requests/control-run.js';
import type { AnyWorkflow } from '../../../lib/workflow/define-workflow.js';
import { recordsOf, replay } from '../oracles.js';
import { World } from '../world.js';
import { configOf, drawAgent } from './agent.js';
import { isEnded, short, type Book } from './book.js';
import { Callers } from './callers.js';
import { CaseStage } from './case-stage.js';
import { hookSecret, hooksOf } from './deliveries.js';
import { Dice } from './dice.js';
import { drawCase } from './draw-case.js';
import { hearingProblems } from './hearing.js';
import type { Stage } from './interpret.js';
import { drawMore } from './more.js';
import { Oracles } from './oracles.js';
import { tools } from './program.js';
import { repeat } from './start-limited.js';
import { Tenants } from './tenants.js';
import type { Told } from './telling.js';
import type { Case, Entry, Fault } from './timetable.js';
import { endOf, quietOf, shareAt } from './case-times.js';
import { drawServed } from './served/draw-served.js';
import { ServedCallers } from './served/served-callers.js';
import type { ServedOracles } from './served/served-oracles.js';
import { isServedRequest } from './served/served.js';
import { Troubles } from './troubles.js';
import { workflowsOf } from './workflows.js';

const S = 1_000;

export interface Ran {
  readonly world: World;
  /** The violations, by kind. */
  readonly violations: ReadonlyMap<string, string>;
  /** Faults at operations, in order: a case with this list is the same case. */
  readonly faults: readonly Fault[];
  /** Missing: nothing is served. */
  readonly served: ServedOracles | undefined;
}

export function caseOf(seed: number): Case {
  const given = drawMore(drawCase(seed, new Dice(seed * 2_654_435 + 97)), new Dice(seed * 1_640_531 + 53));
  return drawAgent(given, new Dice(seed * 1_013_904 + 29));
}

/** Returns a case in which workflows are served. */
export function servedCaseOf(seed: number): Case {
  return drawServed(caseOf(seed), new Dice(seed * 2_246_822 + 11));
}

export async function runCase(given: Case): Promise<Ran> {
  return new Simulation(given).run();
}

/** Simulates one case in one world. */
class Simulation {
  readonly #case: Case;
  readonly #world: World;
  readonly #oracles: Oracles;
  readonly #tenants: Tenants | undefined;
  readonly #callers: Callers;
  readonly #servedCallers: ServedCallers | undefined;
  readonly #stage: CaseStage;
  readonly #troubles: Troubles;
  /** Seconds after which actions from outside and faults have ended. */
  readonly #quietS: number;
  readonly #endS: number;

  constructor(given: Case) {
    this.#case = given;
    const { entries, skews, limits } = given;
    this.#quietS = quietOf(given);
    this.#endS = endOf(given);
    const stage = (): Stage => this.#stage;
    const flowsOf = (patched: boolean): readonly AnyWorkflow[] => workflowsOf(given, stage, patched);
    const workflows = flowsOf(false);
    const { deploy, schedule } = given;
    const world: World = new World({
      seed: given.seed,
      faultRate: 0,
      workflows,
      tools,
      changes: true,
      dedupes: given.dedupes,
      finds: given.finds,
      secret: hookSecret,
      ...(entries.some(({ what }) => what === 'deliver')
        ? { hooks: hooksOf(workflows[limits === undefined ? 0 : 2]!) }
        : {}),
      ...(given.agent === undefined ? {} : { agent: configOf(given.agent) }),
      ...(given.served === undefined
        ? {}
        : { receiver: (push, process) => this.#oracles.served!.receivers.receive(push, process) }),
      ...(given.lists === undefined ? {} : { lists: given.lists }),
      ...(given.startsTake === undefined ? {} : { startsTakeS: given.startsTake }),
      missingForS: given.missingFor,
      cancelsFail: given.cancelsFail,
      answersAfterS: given.answersAfter,
      faultsEndS: this.#quietS,
      endS: this.#endS,
      replicas: 3,
      countsDeliveries: true,
      skewMsOf: (_, replica) => Math.round((skews[replica % Math.max(1, skews.length)] ?? 0) * S),
      skewMaxMs: Math.max(0, ...skews) * S,
      schedules:
        schedule === undefined
          ? []
          : [
              {
                name: 'ticks',
                workflow: workflows[1]!,
                input: { round: 0 },
                every: { minutes: schedule.every },
                overlap: schedule.overlap,
                catchUp: { minutes: schedule.catchUp },
              },
            ],
      isGone: (item) => this.#troubles.isGone(item),
      indexFails: (partition, second) => this.#troubles.isUnreadable(partition, second),
      direct: (tag, process, alternatives) => {
        const fault = this.#troubles.fault(tag, process, alternatives);
        this.#oracles.pushes?.onOperation(tag, process);
        this.#oracles.limits?.onOperation(process, fault !== undefined);
        return fault;
      },
      ...(deploy === undefined
        ? {}
        : {
            other: {
              workflows: deploy.kind === 'patched' ? flowsOf(true) : [],
              shareAt: (second: number) => shareAt(deploy, second),
            },
          }),
      onApplied: (items) => {
        for (const item of items) this.#oracles.onApplied(item);
        for (const item of items) this.#tenants?.onApplied(item);
      },
      observer: {
        onKilled: (process) => {
          this.#oracles.work.onKilled(process);
        },
        onFailed: (process, error) => {
          this.#oracles.work.onFailed(process, error);
        },
        onDone: (process) => {
          this.#oracles.work.onOver(process);
        },
        onNotice: (process, id) => {
          this.#oracles.tasks.onNotice(process, id);
        },
        onRemoteStart: (process, key) => {
          this.#oracles.work.onRemoteStart(process, key);
          this.#oracles.limits?.onStart(process, key);
        },
        onTask: (task, push) => this.#oracles.pushes?.onTask(task, push),
        onRead: (task) => this.#oracles.pushes?.onRead(task),
        onForgotten: (taskId) => this.#oracles.pushes?.onForgotten(taskId),
        onAdmitted: (process, purpose) => this.#oracles.limits?.onAdmitted(process, purpose),
        onCalled: (...call) => this.#oracles.limits?.onCalled(...call),
      },
    });
    this.#world = world;
    const oracles = new Oracles(world, given, (atMs) => this.#troubles.untilMs(atMs));
    this.#oracles = oracles;
    this.#tenants = given.tenants === undefined ? undefined : new Tenants(world, oracles, given.tenants);
    this.#callers = new Callers({ given, world, oracles, tenants: this.#tenants });
    const { served } = oracles;
    this.#servedCallers = served === undefined ? undefined : new ServedCallers(given, world, served);
    this.#stage = new CaseStage(world, oracles);
    this.#troubles = new Troubles(given, {
      world,
      get books() {
        return oracles.books;
      },
      onHelpless: (process) => {
        oracles.tasks.onHelpless(process);
      },
      act: (entry) => {
        this.#do(entry);
      },
    });
  }

  async run(): Promise<Ran> {
    const world = this.#world;
    for (const entry of this.#case.entries) {
      if (entry.after !== undefined) continue;
      world.atSecond(entry.at, () => {
        this.#do(entry);
      });
    }
    world.atSecond(this.#quietS, () => {
      this.#letGo();
    });
    // A start of unknown fate is repeated when no process is left that may call, and takes its time: a worker that was
    // cut off has a claim until the end of its call, and so may the worker that looks for its task.
    const { startsTake } = this.#case;
    const calmForS = 200 + (startsTake === undefined ? 0 : 2 * ((startPatienceMs + startTakeMs) / S + startsTake));
    let calmSinceS: number | undefined;
    for (let looks = 0; await this.#runUntilLook(looks); looks++) {
      await this.#look(looks);
      // A frozen process may still have something to report.
      const isQuiet = world.seconds > this.#quietS && world.nowMs > world.lastFaultMs;
      const isAtRest = this.#oracles.served?.isCalm ?? true;
      const isCalm = isQuiet && isAtRest && this.#oracles.books.every(({ head }) => isEnded(head.status));
      if (!isCalm) calmSinceS = undefined;
      else if (world.seconds > (calmSinceS ??= world.seconds) + calmForS) break;
    }
    if (!world.violations.has('turn-spins')) await this.#checkEnd();
    return { world, violations: world.violations, faults: this.#troubles.faults, served: this.#oracles.served };
  }

  /** Runs up to a moment between two sweeps. Returns false if nothing happens any more. */
  async #runUntilLook(looks: number): Promise<boolean> {
    const world = this.#world;
    const moment = { isDue: false };
    world.at(world.nowMs + (looks % 2 === 0 ? 37 : 43) * S, () => {
      moment.isDue = true;
    });
    await world.run(() => moment.isDue);
    return moment.isDue && !world.violations.has('turn-spins');
  }

  async #look(looks: number): Promise<void> {
    const suspects: { readonly book: Book; readonly waitIds: readonly string[] }[] = [];
    this.#oracles.waiting.checkInstant((book, waitIds) => suspects.push({ book, waitIds }));
    for (const { book, waitIds } of suspects) await this.#checkSuspects(book, waitIds);
    if (looks % 4 === 1) await this.#checkOpenWaits();
    this.#oracles.limits?.checkStarved();
    await this.#tenants?.checkCounts();
  }

  async #checkEnd(): Promise<void> {
    const oracles = this.#oracles;
    await this.#tenants?.checkCounts();
    oracles.ended.checkStuck();
    oracles.ended.checkOrder();
    oracles.tasks.checkTasks();
    oracles.starts.checkLastInputs();
    oracles.starts.checkSlots();
    oracles.pushes?.checkForgotten();
    await oracles.served?.checkEnd(this.#world.depsAside());
    await this.#checkKeys();
    if (!this.#case.cancelsFail && this.#case.missingFor === 0) oracles.ended.checkMarkersLeft();
    for (const book of oracles.books) {
      if (isEnded(book.head.status) && !book.chain.hasLoss) await this.#checkReplay(book);
    }
  }

  /** Checks that each start that was accepted is found by its idempotency key. */
  async #checkKeys(): Promise<void> {
    for (const { request, runId } of this.#oracles.starts.answered) {
      const again = await repeat(this.#callers.depsOf(request, this.#world.depsAside()), request).catch(
        (error: unknown) => error as Error,
      );
      if (again instanceof Error || !again.deduplicated || again.runId !== runId)
        this.#world.fail('start-forgotten', `start ${request.key} of run ${short(runId)}: ${JSON.stringify(again)}`);
    }
  }

  /** Checks that the finished history replays to its outcome, with at least one version of the code. */
  async #checkReplay(book: Book): Promise<void> {
    const world = this.#world;
    const records = await recordsOf(world, book.runId);
    const divergences: string[] = [];
    for (const app of [world.app, ...(world.otherApp === undefined ? [] : [world.otherApp])]) {
      if (!app.workflows.has(records.head.workflow)) continue;
      this.#stage.told = undefined;
      const { status } = await replay(world, app, records);
      const told = this.#stage.told as Told | undefined;
      const ending = book.ending;
      const got = status.kind === 'ended' ? JSON.stringify(status.outcome) : JSON.stringify(status);
      const isForced = ending?.status === 'terminated' || JSON.stringify(ending).includes('RUN_TIMED_OUT');
      const begun = book.startedAtMs !== undefined;
      // A task that is canceled may have come to any end by itself.
      const isCanceled = book.head.task !== undefined && ending?.status === 'cancelled';
      const isAnyEnd = isForced || (isCanceled && status.kind === 'ended');
      if (begun && (isAnyEnd ? status.kind === 'blocked' : got !== JSON.stringify(ending))) {
        divergences.push(`${got.slice(0, 200)}, the history has ${JSON.stringify(ending).slice(0, 200)}`);
        continue;
      }
      if (told !== undefined) this.#oracles.ended.checkEnded(book, told);
      if (told !== undefined && book.head.task !== undefined) this.#oracles.served?.onTold(book, told);
      for (const problem of hearingProblems(world.log(book.runId), told?.heardOf ?? [], world.remote.tasks))
        world.fail('heard-otherwise', `run ${short(book.runId)}: ${problem}`);
      return;
    }
    if (divergences.length > 0) world.fail('replay-diverges', `run ${short(book.runId)}: ${divergences.join('; ')}`);
  }

  async #checkSuspects(book: Book, waitIds: readonly string[]): Promise<void> {
    const execution = await this.#replayed(book);
    for (const waitId of waitIds)
      if (execution?.command(waitId) !== undefined) this.#oracles.waiting.timerLost(book, waitId);
  }

  async #checkOpenWaits(): Promise<void> {
    for (const book of this.#oracles.books) {
      const { head, state, runId } = book;
      if (isEnded(head.status) || state.seq === 0 || state.open.size === 0 || book.ending !== undefined) continue;
      if (state.pausedUntilMs !== undefined || [...this.#world.processes].some((one) => one.runId === runId)) continue;
      const execution = await this.#replayed(book);
      if (execution !== undefined)
        this.#oracles.waiting.checkOpen(book, (waitId) => execution.command(waitId) !== undefined);
    }
  }

  /** Replays the code of a run against its log; returns undefined if it does not fit. */
  async #replayed({ runId, chain }: Book) {
    if (chain.hasLoss) return undefined;
    const records = await recordsOf(this.#world, runId);
    const execution = await replay(this.#world, this.#world.app, records);
    return execution.status.kind === 'waiting' ? execution : undefined;
  }

  #do(entry: Entry): void {
    if (entry.what === 'lose') this.#troubles.lose(entry);
    else if (isServedRequest(entry)) this.#servedCallers?.make(entry);
    // The store's other faults are looked up when it is used.
    else if (entry.what !== 'throttle' && entry.what !== 'unreadable') this.#callers.make(entry);
  }

  /** Ends all interference: what is paused is resumed, and the clock starts nothing. */
  #letGo(): void {
    const world = this.#world;
    if (this.#case.schedule !== undefined)
      world.request('observer', async (deps) => {
        await pauseSchedule(deps, 'ticks');
      });
    for (const { runId, head, chain } of this.#oracles.books) {
      if (isEnded(head.status) || chain.control.is === 'running') continue;
      world.request('caller', async (deps) => {
        await requestControl(deps, runId, 'resume');
      });
    }
    // A caller who was frozen may still pause something, and a run may hand a pause on.
    if (world.seconds < this.#endS - 600)
      world.at(world.nowMs + 300 * S, () => {
        this.#letGo();
      });
  }
}
