import { startPatienceMs, startTakeMs } from '../../../lib/base/limits.js';
import { hasCode } from '../../../lib/base/errors.js';
import { inputIdOf } from '../../../lib/base/ids.js';
import type { EpochMs } from '../../../lib/base/time.js';
import { awaitOutcome } from '../../../lib/operations/views/await-outcome.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { heartbeatToken } from '../../../lib/operations/requests/heartbeat-token.js';
import { answerQuestion } from '../../../lib/operations/requests/answer-question.js';
import { queryRun } from '../../../lib/operations/views/query-run.js';
import { pauseSchedule } from '../../../lib/operations/schedules/pause-schedule.js';
import { requestControl } from '../../../lib/operations/requests/control-run.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { settleToken } from '../../../lib/operations/requests/settle-token.js';
import { startNamedRun } from '../../../lib/operations/requests/start-named-run.js';
import { startOrSignal, startRun } from '../../../lib/operations/requests/start-run.js';
import type { Item } from '../../../lib/store/table.js';
import type { StepContext } from '../../../lib/workflow/step-options.js';
import type { AnyWorkflow } from '../../../lib/workflow/define-workflow.js';
import { recordsOf, replay } from '../oracles.js';
import { World, type Deviation } from '../world.js';
import { isEnded, short, type Book } from './book.js';
import { Dice } from './dice.js';
import { hookSecret, hooksOf, send } from './deliveries.js';
import type { Input, Stage, Work } from './interpret.js';
import { workflowsOf } from './workflows.js';
import { repeat, startLimited } from './start-limited.js';
import { drawMore, laneBoundMax } from './more.js';
import { drawCase } from './draw-case.js';
import { flowBound } from './program-bounds.js';
import { noticeMs, Oracles } from './oracles.js';
import { tools } from './program.js';
import { hearingProblems } from './hearing.js';
import { Tenants, tenantOf } from './tenants.js';
import { Telling, type Told } from './telling.js';
import {
  operationKinds,
  type Case,
  type Entry,
  type Fault,
  type LostKind,
  type Moment,
  type OperationKind,
  type Request,
  type Trouble,
} from './timetable.js';

const S = 1_000;

export interface Ran {
  readonly world: World;
  /** The violations, by kind. */
  readonly violations: ReadonlyMap<string, string>;
  /** Faults at operations, in order: a case with this list is the same case. */
  readonly faults: readonly Fault[];
}

export function caseOf(seed: number): Case {
  return drawMore(drawCase(seed, new Dice(seed * 2_654_435 + 97)), new Dice(seed * 1_640_531 + 53));
}

export async function runCase(given: Case): Promise<Ran> {
  return new Simulation(given).run();
}

type ScheduleTrouble = Extract<Trouble, { what: 'throttle' }> & { readonly at: number };

/** A request that was answered with an error. */
interface Failed {
  readonly request: Request;
  readonly error: unknown;
  readonly begunAtMs: EpochMs;
  readonly tenant: string | undefined;
}

/** Simulates one case in one world. */
class Simulation implements Stage {
  readonly #case: Case;
  readonly #world: World;
  readonly #oracles: Oracles;
  readonly #tenants: Tenants | undefined;
  readonly #dice: Dice;
  readonly #faults: Fault[] = [];
  /** Number of operations so far at which something may go wrong. */
  #faultsAt = 0;
  readonly #listed: ReadonlyMap<string, Deviation> | undefined;
  readonly #times = new Map<string, number>();
  readonly #throttles: readonly ScheduleTrouble[];
  /** Actions from outside that follow an action of the engine. */
  #moments: readonly (Moment & { readonly entry: Entry })[];
  readonly #counts = new Map<OperationKind, number>();
  readonly #gone = new Set<string>();
  /** Processes whose write of a handle was refused. */
  readonly #refusedHandle = new Set<string>();
  readonly #startMs: EpochMs;
  /** Promises that the last replay has seen. */
  #told: Told | undefined;
  /** Seconds after which actions from outside and faults have ended. */
  readonly #quietS: number;
  readonly #endS: number;
  #unsettledCallers = 0;
  #keys = 0;

  constructor(given: Case) {
    this.#case = given;
    this.#dice = new Dice(given.seed ^ 0x2545f491);
    const { faults, entries, flows, skews, limits } = given;
    this.#listed =
      faults.kind === 'list' ? new Map(faults.list.map(({ at, deviation }) => [at, deviation])) : undefined;
    this.#throttles = entries.filter((entry) => entry.what === 'throttle');
    this.#moments = entries.flatMap((entry) => (entry.after === undefined ? [] : [{ ...entry.after, entry }]));
    const lastS = Math.max(
      faults.kind === 'dice' ? faults.end : 600,
      given.deploy?.until ?? 0,
      given.schedule === undefined ? 0 : 700,
      ...entries.map(
        (entry) => entry.at + ('for' in entry ? entry.for : 0) + (entry.after === undefined ? 0 : momentsEndS),
      ),
    );
    this.#quietS = lastS + 5;
    this.#endS = lastS + flowBound(flows.main) + flowBound(flows.kid) * 2 + queueBound(given) + 4_000;
    const stage = (): Stage => this;
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
      ...(entries.some(({ what }) => what === 'deliver')
        ? { hooks: hooksOf(workflows[limits === undefined ? 0 : 2]!), secret: hookSecret }
        : {}),
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
      isGone: ({ pk, sk }) => this.#gone.size > 0 && this.#gone.has(`${pk} ${sk}`),
      indexFails: (partition, second) => this.#isUnreadable(partition, second),
      direct: (tag, process, alternatives) => this.#fault(tag, process, alternatives),
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
          this.#oracles.onKilled(process);
        },
        onFailed: (process, error) => {
          this.#oracles.onFailed(process, error);
        },
        onDone: (process) => {
          this.#oracles.onOver(process);
        },
        onNotice: (process, id) => {
          this.#oracles.onNotice(process, id);
        },
        onRemoteStart: (process, key) => {
          this.#oracles.onRemoteStart(process, key);
        },
      },
    });
    this.#world = world;
    this.#startMs = world.nowMs;
    this.#oracles = new Oracles(world, given, (atMs) => this.#troubleUntilMs(atMs));
    this.#tenants = given.tenants === undefined ? undefined : new Tenants(world, this.#oracles, given.tenants);
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
      const isCalm = isQuiet && this.#oracles.books.every(({ head }) => isEnded(head.status));
      if (!isCalm) calmSinceS = undefined;
      else if (world.seconds > (calmSinceS ??= world.seconds) + calmForS) break;
    }
    if (!world.violations.has('turn-spins')) await this.#checkEnd();
    return { world, violations: world.violations, faults: this.#faults };
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
    this.#oracles.checkInstant((book, waitIds) => suspects.push({ book, waitIds }));
    for (const { book, waitIds } of suspects) await this.#checkSuspects(book, waitIds);
    if (looks % 4 === 1) await this.#checkOpenWaits();
    await this.#tenants?.checkCounts();
  }

  async #checkEnd(): Promise<void> {
    const oracles = this.#oracles;
    await this.#tenants?.checkCounts();
    oracles.checkStuck();
    oracles.checkOrder();
    oracles.checkTasks();
    oracles.starts.checkLastInputs();
    await this.#checkKeys();
    if (!this.#case.cancelsFail && this.#case.missingFor === 0) oracles.checkMarkersLeft();
    for (const book of oracles.books) {
      if (isEnded(book.head.status) && !book.chain.hasLoss) await this.#checkReplay(book);
    }
  }

  /** Checks that each start that was accepted is found by its idempotency key. */
  async #checkKeys(): Promise<void> {
    for (const { request, runId } of this.#oracles.starts.answered) {
      const again = await repeat(this.#depsOf(request, this.#world.depsAside()), request).catch(
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
      this.#told = undefined;
      const { status } = await replay(world, app, records);
      const told = this.#told as Told | undefined;
      const ending = book.ending;
      const got = status.kind === 'ended' ? JSON.stringify(status.outcome) : JSON.stringify(status);
      const isForced = ending?.status === 'terminated' || JSON.stringify(ending).includes('RUN_TIMED_OUT');
      const begun = book.startedAtMs !== undefined;
      if (begun && (isForced ? status.kind === 'blocked' : got !== JSON.stringify(ending))) {
        divergences.push(`${got.slice(0, 200)}, the history has ${JSON.stringify(ending).slice(0, 200)}`);
        continue;
      }
      if (told !== undefined) this.#oracles.checkEnded(book, told);
      for (const problem of hearingProblems(world.log(book.runId), told?.heardOf ?? [], world.remote.tasks))
        world.fail('heard-otherwise', `run ${short(book.runId)}: ${problem}`);
      return;
    }
    if (divergences.length > 0) world.fail('replay-diverges', `run ${short(book.runId)}: ${divergences.join('; ')}`);
  }

  async #checkSuspects(book: Book, waitIds: readonly string[]): Promise<void> {
    const execution = await this.#replayed(book);
    for (const waitId of waitIds) if (execution?.command(waitId) !== undefined) this.#oracles.timerLost(book, waitId);
  }

  async #checkOpenWaits(): Promise<void> {
    for (const book of this.#oracles.books) {
      const { head, state, runId } = book;
      if (isEnded(head.status) || state.seq === 0 || state.open.size === 0 || book.ending !== undefined) continue;
      if (state.pausedUntilMs !== undefined || [...this.#world.processes].some((one) => one.runId === runId)) continue;
      const execution = await this.#replayed(book);
      if (execution !== undefined) this.#oracles.checkOpen(book, (waitId) => execution.command(waitId) !== undefined);
    }
  }

  /** Replays the code of a run against its log; returns undefined if it does not fit. */
  async #replayed({ runId, chain }: Book) {
    if (chain.hasLoss) return undefined;
    const records = await recordsOf(this.#world, runId);
    const execution = await replay(this.#world, this.#world.app, records);
    return execution.status.kind === 'waiting' ? execution : undefined;
  }

  // ----- what goes wrong -----

  #fault(tag: string, process: string, alternatives: readonly Deviation[]): Deviation | undefined {
    if (this.#moments.length > 0) this.#notice(tag);
    const throttled = this.#isThrottled(tag);
    const { faults } = this.#case;
    // Calls that take no time and at which nothing else goes wrong.
    if (alternatives.length === 0) return undefined;
    const time = (this.#times.get(tag) ?? 0) + 1;
    this.#times.set(tag, time);
    if (throttled && operationKinds.handle.test(tag)) this.#refusedHandle.add(process);
    if (throttled) return 'throttle';
    // The server fails for a while.
    const isRefused = this.#case.cancelsFail && this.#world.seconds < 300 && tag.startsWith('cancel ');
    if (isRefused && new Dice(hash(`${tag}${time}`) ^ this.#case.seed).chance(0.7)) {
      if (this.#refusedHandle.has(process)) this.#oracles.onHelpless(process);
      return 'refused';
    }
    const at = `${tag} @${time}`;
    if (this.#listed !== undefined) return this.#listed.get(at);
    if (faults.kind !== 'dice' || faults.rate === 0 || this.#world.seconds > faults.end) return undefined;
    if (faults.at !== undefined && !faults.at.some((kind) => operationKinds[kind].test(tag))) return undefined;
    if (!this.#dice.chance(faults.rate) || process.startsWith('observer')) return undefined;
    if (faults.nth !== undefined && ++this.#faultsAt !== faults.nth) return undefined;
    const possible = alternatives.filter((deviation) => faults.of.includes(deviation));
    if (possible.length === 0) return undefined;
    const deviation = this.#dice.pick(possible);
    this.#faults.push({ at, deviation });
    return deviation;
  }

  /** Runs the callers who act on what the engine does at this moment. */
  #notice(tag: string): void {
    const world = this.#world;
    if (world.seconds > momentsEndS) {
      this.#moments = [];
      return;
    }
    for (const kind of new Set(this.#moments.map((moment) => moment.kind))) {
      if (!operationKinds[kind].test(tag)) continue;
      const count = (this.#counts.get(kind) ?? 0) + 1;
      this.#counts.set(kind, count);
      const isNow = (moment: Moment): boolean => moment.kind === kind && moment.nth === count;
      for (const { entry } of this.#moments.filter(isNow))
        world.at(world.nowMs + entry.at * S, () => {
          this.#do(entry);
        });
      this.#moments = this.#moments.filter((moment) => !isNow(moment));
    }
  }

  #isThrottled(tag: string): boolean {
    if (this.#throttles.length === 0) return false;
    const second = this.#world.seconds;
    return this.#throttles.some(({ at, for: long, of, share }, index) => {
      if (second < at || second >= at + long || !throttlePatterns[of].test(tag)) return false;
      if (share === 1) return true;
      const time = this.#times.get(tag) ?? 0;
      return new Dice(hash(`${tag}${time}${index}`) ^ this.#case.seed).chance(share);
    });
  }

  #isUnreadable(partition: string, second: number): boolean {
    return this.#case.entries.some(
      (entry) =>
        entry.what === 'unreadable' &&
        String(entry.partition) === partition &&
        second >= entry.at &&
        second < entry.at + entry.for,
    );
  }

  /** Returns until when, in the past, the store failed for all processes. */
  #troubleUntilMs(atMs: EpochMs): EpochMs {
    const second = (atMs - this.#startMs) / S;
    const ends = this.#case.entries.flatMap((entry) => {
      if (!('for' in entry) || entry.at > second) return [];
      // A blocked run is retried less and less often.
      return [entry.what === 'lose' ? entry.at + 3 * entry.for + 200 : Math.min(second, entry.at + entry.for)];
    });
    const { deploy } = this.#case;
    // A blocked run is retried less and less often.
    const blocked =
      deploy === undefined || second < deploy.from ? 0 : deploy.until + 2 * (deploy.until - deploy.from) + 200;
    return this.#startMs + Math.max(0, blocked, ...ends) * S;
  }

  // ----- what callers do -----

  #do(entry: Entry): void {
    if (entry.what === 'lose') this.#lose(entry);
    // The store's other faults are looked up when it is used.
    else if (entry.what !== 'throttle' && entry.what !== 'unreadable') this.#request(entry);
  }

  #request(request: Request): void {
    const world = this.#world;
    const runId = 'run' in request ? this.#pickRun(request.run) : undefined;
    if ('run' in request && runId === undefined) return;
    if (request.what === 'burst') {
      this.#burst(runId!, request.count);
      return;
    }
    this.#unsettledCallers++;
    const begunAtMs = world.nowMs;
    world.request('caller', async (given) => {
      const deps = this.#depsOf(request, given);
      try {
        if (runId !== undefined) await this.#tenants?.letIn(deps, runId);
        await this.#ask(deps, request, runId ?? '');
      } catch (error) {
        this.#check({ request, error, begunAtMs, tenant: deps.caller?.tenant });
      }
    });
  }

  /** Returns the dependencies of who makes a request: one of a tenant, except for the senders of deliveries. */
  #depsOf(request: Request, given: Deps): Deps {
    if (this.#tenants === undefined || request.what === 'deliver') return given;
    return this.#tenants.asCaller(given, request.what === 'startLimited' ? request.key : undefined);
  }

  /** Checks what a caller gets: refusals are valid answers, anything else is not. */
  #check({ request, error, begunAtMs, tenant }: Failed): void {
    if (request.what === 'startLimited' || request.what === 'deliver') {
      const { starts } = this.#oracles;
      const on = request.what === 'startLimited' ? request.on : 'limited';
      if (hasCode(error, 'CONCURRENCY_KEY_BUSY')) {
        starts.onBusy({ ...request, on, tenant }, begunAtMs);
        return;
      }
      if (hasCode(error, 'START_THROTTLED')) {
        starts.onThrottled(request.lane, begunAtMs);
        return;
      }
      // The version without the workflows has no hooks either; and a clock that far ahead finds a signature too old.
      if (hasCode(error, 'UNAUTHORIZED') && (this.#case.deploy?.kind === 'missing' || this.#case.skews.length > 0))
        return;
    }
    const expected = [
      'STORE_UNAVAILABLE',
      'STORE_RESULT_UNKNOWN',
      'RUN_ENDED',
      'RUN_EXISTS',
      'RUN_NOT_FOUND',
      'TENANT_LIMIT_REACHED',
      'WORKFLOW_NOT_FOUND',
      'TOKEN_INVALID',
      'INPUT_INVALID',
      'INPUT_NOT_FOUND',
      'KEY_REUSED',
      'QUERY_NOT_FOUND',
      'NONDETERMINISM',
      'QUERY_TIMED_OUT',
      'HISTORY_FORMAT_UNKNOWN',
    ] as const;
    if (!expected.some((code) => hasCode(error, code)))
      this.#world.fail('caller-fails', `${request.what}: ${error instanceof Error ? error.message : 'unknown'}`);
  }

  async #ask(deps: Deps, request: Request, runId: string): Promise<void> {
    const oracles = this.#oracles;
    switch (request.what) {
      case 'start':
      case 'startNamed': {
        const terms = {
          workflow: 'main',
          input: { round: 0 },
          ...(request.timeout === undefined ? {} : { timeoutMs: request.timeout * S }),
          ...(request.delay === undefined ? {} : { delayMs: request.delay * S }),
        };
        if (request.what === 'start') await startRun(deps, { ...terms, key: request.key });
        else {
          const { id, whenRunning, whenEnded } = request;
          await startNamedRun(deps, { ...terms, id, whenRunning, whenEnded });
        }
        return;
      }
      case 'startOrSignal': {
        const { key, name } = request;
        const first = this.#world.tokens.keyedRunId('main', key, ...tenantOf(deps));
        const before = oracles.lastOf(first);
        const wasRunning = before?.head.status === 'running';
        try {
          const signal = { name, payload: this.#payload(name), key: `s${++this.#keys}` };
          await startOrSignal(deps, { workflow: 'main', input: { round: 0 }, key, signal });
        } catch (error) {
          if (hasCode(error, 'RUN_ENDED') && wasRunning && oracles.lastOf(first)?.head.status === 'running')
            this.#world.fail('start-or-signal-refused', `run ${short(before.runId)} of this key is running`);
          throw error;
        }
        return;
      }
      case 'startLimited': {
        const begunAtMs = this.#world.nowMs;
        oracles.starts.onStarted(request, await startLimited(deps, request), begunAtMs);
        return;
      }
      case 'deliver':
        oracles.deliveries.onReceived(request, await send(deps, request, this.#world.nowMs));
        return;
      case 'pause':
      case 'resume':
      case 'retryNow':
        await requestControl(deps, runId, request.what);
        return;
      case 'cancel':
      case 'terminate':
        await requestStop(deps, { runId, kind: request.what, requestId: `r${++this.#keys}` });
        return;
      case 'signal':
        await signalRun(deps, runId, {
          name: request.name,
          payload: this.#payload(request.name),
          key: `s${++this.#keys}`,
        });
        return;
      case 'settle':
        await this.#settle(deps, request.pick);
        return;
      case 'heartbeat':
        await this.#heartbeat(deps, request.pick, request.by);
        return;
      case 'answer': {
        const wait = this.#pickWait(request.pick, (item) => item['form'] !== undefined);
        if (wait !== undefined) await this.#tenants?.letIn(deps, wait.runId);
        if (wait !== undefined)
          await answerQuestion(deps, inputIdOf(wait.runId, wait.waitId), { action: 'accept', content: 'yes' });
        return;
      }
      case 'outcome': {
        await this.#tenants?.checkList(deps);
        const ended = await awaitOutcome(deps, runId, 10 * S);
        if (ended?.outcome.status === 'continued')
          this.#world.fail('reader-stopped', `awaitOutcome of run ${short(runId)} says that it is continued`);
        return;
      }
      case 'query': {
        const before = oracles.lastOf(runId);
        const { result: answer } = await queryRun(deps, runId, 'round', undefined);
        const isLive = before?.startedAtMs !== undefined && oracles.lastOf(runId) === before;
        const round = (before?.head.input as { readonly round?: number } | undefined)?.round;
        if (isLive && typeof answer === 'number' && answer < (round ?? 0))
          this.#world.fail(
            'reader-stopped-query',
            `asked run ${short(runId)}: round ${answer}, it is in round ${round ?? 0}`,
          );
        return;
      }
      case 'burst':
        return;
    }
  }

  #payload(name: string): string {
    return `${name}:${++this.#keys}`;
  }

  async #settle(deps: Deps, pick: number): Promise<void> {
    const wait = this.#pickWait(pick, (item) => item['form'] === undefined);
    if (wait === undefined) return;
    const { runId, waitId } = wait;
    const clockMs = deps.clock.nowMs();
    const isPast = (): boolean => Number(this.#tokenOf(wait)?.['deadlineAtMs'] ?? Infinity) <= clockMs;
    const wasPast = isPast();
    const token = deps.tokens.settleToken({ runId, waitId });
    const answer = await settleToken(deps, { token, outcome: { kind: 'completed', result: 'done', isError: false } });
    if (!answer.settled) return;
    const label = `wait ${waitId} of run ${short(runId)}`;
    if (this.#world.settledTrue.includes(label)) this.#world.fail('settled-twice', label);
    this.#world.settledTrue.push(label);
    if (wasPast && isPast()) this.#world.fail('settled-past-deadline', label);
  }

  async #heartbeat(deps: Deps, pick: number, by: number): Promise<void> {
    const isMovable = (item: Record<string, unknown>): boolean =>
      item['server'] === undefined &&
      item['childRunId'] === undefined &&
      item['stepFailures'] === undefined &&
      item['deadlineAtMs'] !== undefined;
    const wait = this.#pickWait(pick, isMovable);
    if (wait === undefined) return;
    const clockMs = deps.clock.nowMs();
    const wasPast = Number(this.#tokenOf(wait)?.['deadlineAtMs'] ?? Infinity) <= clockMs;
    const answer = await heartbeatToken(deps, { token: deps.tokens.settleToken(wait), extendByMs: by * S });
    if (wasPast && !answer.settled)
      this.#world.fail('heartbeat-revives', `wait ${wait.waitId} of run ${short(wait.runId)}`);
  }

  #pickRun(which: number): string | undefined {
    const runIds = this.#oracles.books.map(({ runId }) => runId);
    return runIds.length === 0 ? undefined : runIds[which % runIds.length];
  }

  /** Picks one of the open waits whose item exists, or of all if there is none. */
  #pickWait(
    pick: number,
    fits: (item: Record<string, unknown>) => boolean,
  ): { readonly runId: string; readonly waitId: string } | undefined {
    const all = this.#oracles.books.flatMap(({ runId, items }) =>
      [...items.values()].flatMap((item) => (item.sk.startsWith('t#') && fits(item) ? [{ runId, item }] : [])),
    );
    const open = all.filter(({ item }) => item['settledAtMs'] === undefined);
    const from = open.length > 0 ? open : all;
    const found = from[pick % Math.max(1, from.length)];
    return found === undefined ? undefined : { runId: found.runId, waitId: found.item.sk.slice(2) };
  }

  #tokenOf({ runId, waitId }: { readonly runId: string; readonly waitId: string }) {
    return this.#oracles.book(runId)?.items.get(`t#${waitId}`);
  }

  #burst(runId: string, count: number): void {
    const deps = this.#world.depsAside();
    // Names are long in bytes, few, and distinguished by their beginnings.
    const long = '漢'.repeat(120);
    const send = async (): Promise<void> => {
      for (let n = 0; n < count; n++) {
        const name = `${String(n).padStart(5, '0')}${long}`;
        const { accepted } = await signalRun(deps, runId, { name, payload: n, key: `k${long}` });
        if (!accepted) return;
      }
    };
    void send();
  }

  /** Hides an item that the history refers to from every reader for a while. No process keeps what it held. */
  #lose({ of, pick, for: long }: Extract<Trouble, { what: 'lose' }>): void {
    const world = this.#world;
    const busy = new Set([...world.processes].map(({ runId }) => runId));
    const found = this.#oracles.books
      .filter(({ runId, chain, head }) => !chain.hasLoss && !isEnded(head.status) && !busy.has(runId))
      .flatMap((book) =>
        [...book.items.values()].flatMap((item) => (isNeeded(of, item, book) ? [{ book, item }] : [])),
      );
    const lost = found[pick % Math.max(1, found.length)];
    if (lost === undefined) return;
    const { book, item } = lost;
    const id = `${item.pk} ${item.sk}`;
    world.forgetRuns();
    book.chain.hasLoss = true;
    // A signal that the code does not read is not missed.
    if (of !== 'signal') book.goneSinceMs = world.nowMs;
    this.#gone.add(id);
    world.at(world.nowMs + long * S, () => {
      this.#gone.delete(id);
      book.goneSinceMs = undefined;
      book.chain.hasLoss = false;
    });
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

  // ----- the stage -----

  open(runId: string, input: Input): Telling {
    const world = this.#world;
    this.#oracles.starts.onCode(runId, input);
    const telling = new Telling(runId, {
      fail: (kind, detail) => {
        world.fail(kind, detail);
      },
      onNow: (id, beforeMs, nowMs) => {
        if (nowMs > world.furthestMs)
          world.fail(
            'now-ahead',
            `run ${short(id)}: ctx.now() is second ${world.secondsOf(nowMs)} at second ${world.seconds}`,
          );
        if (nowMs < beforeMs) world.fail('now-goes-back', `run ${short(id)}`);
      },
      instantMs: (second) => this.#startMs + second * S,
    });
    this.#told = telling.told;
    return telling;
  }

  async work(runId: string, step: StepContext, { program, handle }: Work): Promise<string> {
    const world = this.#world;
    const { idempotencyKey: key, attempt, log } = step;
    if (world.isReplaying) world.fail('replay-ran-a-step', short(runId));
    const process = world.processOf(log);
    this.#oracles.onStepBegins(runId, key, process);
    let isAborted = false;
    let isDone = false;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        if (process?.dead === true || isDone) return;
        isDone = true;
        resolve();
      };
      if (program.honours) {
        const { signal } = step;
        const abort = (): void => {
          isAborted = true;
          end();
        };
        if (signal.aborted) abort();
        else signal.addEventListener('abort', abort);
      }
      world.at(world.nowMs + program.takes * S, end);
      handle.gaveUp = () => {
        if (!program.honours || isDone) return;
        const sinceMs = world.nowMs;
        const check = (): void => {
          if (isDone || isAborted || process?.dead === true) return;
          if ((process?.troubledAtMs ?? 0) >= sinceMs - S || world.lastFaultMs >= sinceMs - S) return;
          const control = this.#oracles.book(runId)?.chain.control;
          // A commit that lost to a pause has closed nothing, and under a pause the work in progress ends by itself.
          if (control?.is !== 'running') {
            world.at(world.nowMs + S, check);
            return;
          }
          const isSeenAtMs = control.sinceMs > sinceMs ? control.sinceMs + noticeMs : sinceMs;
          if (world.nowMs < isSeenAtMs) {
            world.at(isSeenAtMs, check);
            return;
          }
          world.fail('abort-late', `a step of run ${short(runId)} works on, long after its wait was closed`);
        };
        world.at(sinceMs + 1_500, check);
      };
    });
    if (attempt <= program.fails || program.fatal === true) {
      this.#oracles.onStepFails(runId, key);
      throw new Error(`attempt ${attempt} fails`);
    }
    return `work ${attempt}`;
  }
}

/** Returns whether the log or the head refers to the item. */
function isNeeded(of: LostKind, { sk, dueAtMs }: Item, { state, head }: Book): boolean {
  switch (of) {
    case 'signal':
      return sk.startsWith('i#signal-') && dueAtMs === undefined && state.takenInbox.has(sk.slice(2));
    case 'token': {
      const wait = sk.startsWith('t#') ? state.openTokens.get(sk.slice(2)) : undefined;
      if (wait?.kind === 'remoteTask') return wait.handle !== undefined;
      return wait?.kind === 'external' ? wait.issued : wait?.kind === 'child' && wait.started;
    }
    case 'commit':
      return sk.startsWith('h#') && Number(sk.slice(2)) <= head.dueSeq;
  }
}

/** Returns an upper bound of the time that runs wait for one another. */
function queueBound({ flows, limits, entries }: Case): number {
  if (limits === undefined) return 0;
  const starts = entries.filter(({ what }) => what === 'startLimited' || what === 'deliver').length;
  const { flow, throttle, debounce, kids } = limits;
  const each =
    flowBound(flow) +
    Math.min(flowBound(flows.main), laneBoundMax) +
    (throttle?.period ?? 0) +
    (debounce?.maxWait ?? 0);
  return starts * (each + 600) + (kids === undefined ? 0 : 30 * flowBound(flows.kid));
}

/** No caller waits for a moment after this. */
const momentsEndS = 250;

const throttlePatterns: Readonly<Record<ScheduleTrouble['of'], RegExp>> = {
  writes: /^(put|update|transact) /,
  commits: /^(put|transact) h#/,
  tokens: /^(put|update) t#/,
  inbox: /^transact a=\S* i#|^update i#/,
  heads: /^(put|update) a\b/,
  reads: /^(query|get) /,
};

function shareAt({ kind, from, until }: Case['deploy'] & object, second: number): number {
  if (second < from) return 0;
  if (kind === 'missing') return second < until ? 1 : 0;
  return second >= until ? 1 : (second - from) / (until - from);
}

function hash(text: string): number {
  let value = 17;
  for (let at = 0; at < text.length; at++) value = (Math.imul(value, 31) + text.charCodeAt(at)) | 0;
  return value;
}
