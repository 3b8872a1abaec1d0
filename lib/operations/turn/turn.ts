import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import type { WaitId } from '../../base/ids.js';
import {
  answerReserveMs,
  delayedMessageMaxMs,
  inboxCheckMs,
  outsideInParallel,
  requestsPerCommit,
  startReserveMs,
  stepsInParallel,
  stepTimeoutMaxMs,
  turnReserveMs,
} from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { waitDueAtMs } from '../../decide/deadline.js';
import { runTimedOut } from '../../decide/outcome.js';
import type { HistoryEvent, RunOutcome } from '../../history/event.js';
import { lifecycleEventsOf } from '../../history/lifecycle-event.js';
import { questionIdOf } from '../../history/remote-question.js';
import type {
  OpenChild,
  OpenExternal,
  OpenLongStep,
  OpenRemoteAnswer,
  OpenRemoteTask,
  OpenStep,
  OpenWait,
  RunState,
} from '../../history/run-state.js';
import type { Settlement } from '../../history/settlement.js';
import type { UnharmedStart } from '../../queue/queue.js';
import type { RunStep, StartChild, StartRemoteTask } from '../../replay/command.js';
import { type Execution, replayBehaviors } from '../../replay/execution.js';
import type { InboxRecord, RunHead, TokenRecord } from '../../history/records.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import { answerRemote } from '../remote-task/answer-remote.js';
import { blockRun } from './block-run.js';
import type { Deps } from '../deps.js';
import { afterEnd, finishRun, needsStop, parentGone, releaseInbox, releaseTokens } from './end-run.js';
import { interruption } from '../../decide/step-interruption.js';
import { issueToken } from './issue-token.js';
import type { KnownRun } from './known-run.js';
import { openExecution } from '../open-execution.js';
import { dueSince, Outbox } from './outbox.js';
import { isStoreTrouble, persistWithin, type Persist } from '../persist.js';
import { hastenLongStep, requestLongStep } from '../steps/request-long-step.js';
import { nextLookAtMs } from '../requests/replaced-run.js';
import type { TurnLimits } from '../turn-limits.js';
import { runStep, stepDeadlinePassed } from '../steps/run-step.js';
import { startChild } from './start-child.js';
import { startWhenFree } from '../remote-task/start-when-free.js';
import {
  fittingCount,
  hasNews,
  newHandles,
  newRequests,
  pausedUntilMs,
  pauseNews,
  takeIn,
  type Known,
} from '../../decide/new-events.js';
import { toRequest } from '../to-request.js';
import { GaveUp, isOnlyKnownHere, type TurnWork } from './work-under-way.js';
import { wakeForRest, wakeRun, wakeRunAt } from '../wake.js';
import { isNextWithWorker } from '../../decide/worker-start.js';

interface TurnOptions {
  readonly turnId: string;
  /** Writer ids under which this turn has called a remote server, kept over its passes. */
  readonly called: Set<string>;
  readonly limits: TurnLimits;
  /** What is in hand, kept over its passes. */
  readonly work: TurnWork;
  /** Starts of steps in the log that no process died of. */
  readonly unharmed?: readonly UnharmedStart[] | undefined;
}

interface Marker {
  readonly dueAtMs: EpochMs | undefined;
  readonly publishedSeq: number | undefined;
}

/**
 * One pass over a run whose outcome is open.
 *
 * T1  Nothing happens outside before the command that asks for it is in the log.
 * T2  What a pass takes in, and in which order, is free until the commit and fixed after it.
 * T3  A lost commit ends the pass; nothing of what it knew is used again. What it has in hand and no item holds, steps
 *     under way and results, is taken in by the next pass if the log then waits for it, at that attempt.
 * T4  Markers are moved last, when the run is quiet: until then whatever led here stands.
 * T5  A pass does not end before its remote starts have: their handles are stored, or their tasks can be found again, or
 *     are cancelled.
 * T6  A store that turns a write away is asked again as long as there is time. What is under way then ends, and another
 *     turn is told which starts of steps nobody died of: only a start with no end whose process died is a strike.
 */
export class Turn {
  readonly #deps: Deps;
  readonly #from: KnownRun;
  readonly #head: RunHead;
  readonly #state: RunState;
  readonly #options: TurnOptions;
  readonly #tokens: Map<WaitId, TokenRecord>;
  readonly #inbox: Map<string, InboxRecord>;
  readonly #known: Known;
  /** Undefined when nobody is told what happens to the run. */
  readonly #outbox: Outbox | undefined;
  readonly #work: TurnWork;
  readonly #persist: Persist;
  /** Starts whose server is left alone, and until when. The log has that it is, not each time that it was found so. */
  readonly #heldUntilMs = new Map<WaitId, EpochMs>();
  /** Long steps whose next attempt this pass has asked for, by the request for which it did. */
  readonly #hastened = new Map<WaitId, EpochMs>();
  /** Waits for which nothing more is begun: the store did not take what they need. */
  readonly #givenUp = new Set<WaitId>();
  /** Requests that no commit holds, in order; looked for anew when the inbox has been read. */
  #requests: readonly InboxRecord[] | undefined;
  /** Waits and requests that this pass has taken in: no other owner takes away their markers. */
  readonly #takenHere = new Set<string>();
  /** The last taking was as much as one commit holds, and more is there. */
  #isCut = false;
  /** What broke an effect: never an author's step, nor a store that was tried for long enough. */
  #effectError: Error | undefined;
  #lastInboxReadMs: EpochMs;
  /** When it was last looked at what is due: nobody but the end of an effect can act on what was due before. */
  #lookedAtMs: EpochMs;
  #execution: Execution | undefined;

  constructor(deps: Deps, run: KnownRun, options: TurnOptions) {
    const { head, state, tokens, inbox } = run;
    this.#deps = deps;
    this.#from = run;
    this.#head = head;
    this.#state = state;
    this.#options = options;
    this.#tokens = tokens;
    this.#inbox = inbox;
    const newOnes = (): readonly InboxRecord[] => (this.#requests ??= newRequests(inbox, state));
    this.#known = {
      state,
      tokens,
      get requests() {
        return newOnes();
      },
      isWaitedFor: (wait) => this.#isWaitedFor(wait),
    };
    this.#outbox = run.unpublished === undefined ? undefined : new Outbox(deps, run.unpublished, options.limits);
    this.#lastInboxReadMs = deps.clock.nowMs();
    this.#lookedAtMs = this.#lastInboxReadMs;
    this.#persist = persistWithin(deps, options.limits);
    this.#work = options.work;
    this.#work.goOnFrom(state);
  }

  /** False: a commit was lost, read again. */
  async run(workflow: AnyWorkflow | undefined): Promise<boolean> {
    const lookAtMs = this.#state.seq === 0 ? await nextLookAtMs(this.#deps, this.#head) : undefined;
    if (lookAtMs !== undefined) return this.#restBehind(lookAtMs);

    const nowMs = this.#deps.clock.nowMs();
    // Neither needs the workflow's code, so they also end a run that is blocked or paused.
    const terminate = this.#known.requests.find(isTerminate);
    if (terminate !== undefined) return this.#end(this.#takeIn(), terminated(terminate));
    if (this.#head.deadlineAtMs !== undefined && this.#head.deadlineAtMs <= nowMs)
      return this.#end(this.#takeIn(), runTimedOut(this.#head.workflow));

    // None of its code has run, and none will: like a cancel before a delayed start it has no `RunStarted`.
    if (this.#state.seq === 0 && this.#head.inputError !== undefined)
      return this.#end(takeIn(this.#known, [], nowMs).events, { status: 'failed', error: this.#head.inputError });
    const stop = this.#state.seq === 0 ? await this.#stopOfParent() : undefined;
    if (stop !== undefined) return this.#end(this.#takeIn(), stop);
    if (this.#state.seq === 0 && this.#head.startAtMs !== undefined && nowMs < this.#head.startAtMs)
      return this.#waitForStart(this.#head.startAtMs);
    if (pausedUntilMs(this.#known, nowMs) !== undefined) return this.#pause();
    if (workflow === undefined) return this.#park(workflowMissing(this.#head.workflow));

    const execution = this.#from.execution ?? (await this.#replayed(workflow));
    this.#execution = execution;
    try {
      return await this.#goOn(workflow, execution);
    } finally {
      await this.#work.allEnd('outside');
    }
  }

  /** Another run has to end first. Whatever comes meanwhile waits where it is, the deadline and a terminate included. */
  async #restBehind(lookAtMs: EpochMs): Promise<boolean> {
    await this.#restUntil(lookAtMs, Infinity);
    await wakeRunAt(this.#deps, this.#head.runId, lookAtMs);
    return true;
  }

  /** Not begun yet. A cancel finds no code that could clean up: it ends the run at once, without a `RunStarted`. */
  async #waitForStart(startAtMs: EpochMs): Promise<boolean> {
    const cancel = this.#known.requests.find(isCancel);
    if (cancel === undefined) return this.#restUntil(startAtMs);
    return this.#end(takeIn(this.#known, [], this.#deps.clock.nowMs()).events, cancelled(cancel));
  }

  async #replayed(workflow: AnyWorkflow): Promise<Execution> {
    const execution = openExecution(this.#deps, workflow, this.#head, this.#state, this.#tokens, this.#inbox);
    for (const commit of this.#from.commits) for (const event of commit.events) await execution.apply(event);
    execution.goLive();
    return execution;
  }

  async #goOn(workflow: AnyWorkflow, execution: Execution): Promise<boolean> {
    for (;;) {
      this.#lookedAtMs = this.#deps.clock.nowMs();
      if (pausedUntilMs(this.#known, this.#deps.clock.nowMs()) !== undefined) return this.#pause();
      const events = this.#takeIn();
      const terminate = events.find((event) => event.type === 'TerminateRequested');
      if (terminate !== undefined) return this.#end(events, terminated(terminate));
      if (this.#isOverdue()) return this.#end(events, runTimedOut(this.#head.workflow));
      for (const event of events) await execution.apply(event);
      if (execution.status.kind === 'blocked') return this.#park(execution.status.error, events);
      if (execution.status.kind === 'ended' && this.#isCut) {
        // All that was accepted is in the log before the run can end, in as many commits as that takes.
        if (!(await this.#commit(events))) return false;
        if (this.#isShortOfTime()) return this.#goOnLater();
        continue;
      }
      if (execution.status.kind === 'ended') {
        // What the workflow asked for on its last way is not recorded, but the signals that it read there are read.
        return this.#end([...events, ...execution.takeDerived(Infinity)], execution.status.outcome);
      }
      const asked = execution
        .newCommands(requestsPerCommit)
        .map((command) => toRequest(command, this.#deps.clock.nowMs()));
      const requested = asked.slice(0, fittingCount(asked));
      const derived = execution.takeDerived(Number(requested.at(-1)?.waitId ?? execution.lastRecordedWait));
      const commit = [...events, ...requested, ...derived];
      if (commit.length > 0) {
        if (!(await this.#commit(commit))) return false;
        for (const event of [...requested, ...derived]) await execution.apply(event);
        this.#work.abandonSteps((waitId) => execution.command(waitId) !== undefined);
        const mayBeMore = asked.length === requestsPerCommit || requested.length < asked.length;
        if (this.#isCut && this.#isShortOfTime()) return this.#goOnLater();
        if (mayBeMore || this.#isCut || this.#work.results.length > 0 || this.#isOverdue()) continue;
        // A request may be due at once, and was not there at the last look.
        if (requested.length > 0 && hasNews(this.#known, this.#deps.clock.nowMs())) continue;
      }

      const hasTime = this.#effectError !== undefined || this.#begin(execution);
      if (this.#work.results.length > 0) continue;
      if (this.#work.underWay > 0) await this.#someEffect();
      else if (this.#effectError !== undefined) throw this.#effectError;
      else if (!hasTime || !hasNews(this.#known, this.#deps.clock.nowMs())) {
        await (hasTime ? this.#quiet() : this.#yield());
        this.#keep(workflow, execution);
        return true;
      }
    }
  }

  /**
   * A parent that closed its wait before the head of its child was there had nobody to stop. The wait is closed first and
   * the child stopped then, so either this turn sees the one or a later turn the other.
   */
  async #stopOfParent(): Promise<RunOutcome | undefined> {
    const { parent } = this.#head;
    const wait = parent === undefined ? undefined : await this.#deps.store.readToken(parent.runId, parent.waitId);
    if (wait?.child === undefined || wait.child.parentClose === 'abandon' || !needsStop(wait)) return undefined;
    // Whichever its policy: none of its code has run, so there is nothing to clean up.
    return { status: 'terminated', reason: parentGone };
  }

  #isOverdue(): boolean {
    return (this.#head.deadlineAtMs ?? Infinity) <= this.#deps.clock.nowMs();
  }

  #isWaitedFor(wait: OpenWait): boolean {
    return this.#execution?.command(wait.waitId) !== undefined;
  }

  // ----- taking in -----

  #takeIn(): readonly HistoryEvent[] {
    const nowMs = this.#deps.clock.nowMs();
    const results = this.#work.results.splice(0, fittingCount(this.#work.results));
    const { events: news, isCut } = takeIn(this.#known, results, nowMs);
    this.#isCut = isCut;
    const events = this.#firstEvents(nowMs);
    const { pausedUntilMs: untilMs } = this.#state;
    // Only when the pause is over: a run that ends while it is paused was not resumed.
    if (untilMs !== undefined && untilMs <= nowMs && !news.some((event) => event.type === 'RunResumed')) {
      events.push({ type: 'RunResumed', atMs: untilMs });
    }
    return news.length === 0 && !this.#tellsStarts() && this.#execution?.isLeaving !== true
      ? events
      : [...events, ...newHandles(this.#known), ...news];
  }

  /** A handle is worth no commit of its own, but where somebody is to be told of the start. Those of a turn share one. */
  #tellsStarts(): boolean {
    return this.#outbox !== undefined && this.#work.underWay === 0;
  }

  #firstEvents(atMs: EpochMs): HistoryEvent[] {
    if (this.#state.seq > 0) return [];
    const { workflow, version } = this.#head;
    return [{ type: 'RunStarted', atMs, workflow, version, behaviors: replayBehaviors }];
  }

  // ----- committing -----

  async #commit(events: readonly HistoryEvent[]): Promise<boolean> {
    const seq = this.#state.seq + 1;
    const commit = { seq, writerId: this.#deps.random.hex(16), events };
    if (!(await this.#decide(() => this.#deps.store.commit(this.#head.runId, commit), events))) return false;
    const settlementOf = (waitId: WaitId): Settlement | undefined => this.#tokens.get(waitId)?.settlement;
    this.#outbox?.add(lifecycleEventsOf(this.#head, this.#state, { seq, events }, settlementOf));
    this.#state.applyCommit(seq, events);
    this.#work.committed(events, this.#state);
    for (const event of events) {
      if (event.type === 'TokenSettled') this.#takenHere.add(event.waitId);
      else if ('inboxId' in event) this.#takenHere.add(event.inboxId);
    }
    this.#requests = this.#requests?.filter(({ inboxId }) => !this.#state.takenInbox.has(inboxId));
    return true;
  }

  /** The write of a commit, until the store takes or refuses it. @throws GaveUp */
  async #decide(write: () => Promise<boolean>, events: readonly HistoryEvent[]): Promise<boolean> {
    try {
      const committed = await this.#persist(write);
      if (!committed) this.#work.takeBack(events.filter((event) => !this.#isOnItem(event)));
      return committed;
    } catch (error) {
      throw isStoreTrouble(error) ? new GaveUp('a commit was not taken', { cause: error }) : error;
    }
  }

  /** A worker has left it on the token: the next pass finds it there, if the log then still waits for it. */
  #isOnItem(event: HistoryEvent): boolean {
    const came = 'waitId' in event ? this.#tokens.get(event.waitId)?.workerStart?.came : undefined;
    if (came?.type !== event.type) return false;
    return !('error' in event) || ('error' in came && came.error === event.error);
  }

  /** The workflow has ended: fixes the outcome, and ends the run in the same transaction when no wait is open. */
  async #end(events: readonly HistoryEvent[], outcome: RunOutcome): Promise<boolean> {
    const { runId } = this.#head;
    // As this turn has seen it: it may have read the inbox again since it read the head.
    const inboxCount = this.#state.takenInbox.size + this.#known.requests.length;
    const atMs = this.#deps.clock.nowMs();
    const seq = this.#state.seq + 1;
    const writerId = this.#deps.random.hex(16);
    const unheard = outcome.status === 'continued' ? (this.#execution?.unheardCancels ?? []) : [];
    const ending: readonly HistoryEvent[] = [
      ...events,
      { type: 'RunEnding', atMs, outcome, ...defined({ unheard: unheard.length === 0 ? undefined : unheard }) },
    ];
    const hasOpenWaits = [...this.#state.openTokens.keys()].some(
      (waitId) => this.#tokens.get(waitId)?.settlement === undefined,
    );
    if (hasOpenWaits) {
      const commit = { seq, writerId, events: ending };
      const write = () => this.#deps.store.commitEnding(runId, commit, inboxCount, outcome);
      if (!(await this.#decide(write, events))) return false;
      this.#work.abandonSteps();
      await finishRun(this.#deps, runId, this.#options.limits);
      return true;
    }
    const commit = { seq, writerId, events: [...ending, { type: 'RunEnded', atMs, status: outcome.status } as const] };
    const end = {
      outcome,
      endedAtMs: atMs,
      seen: { status: 'running', inboxCount },
      // Another marker that stands brings the run back just as well, and one write less is paid.
      ...defined({ markAtMs: this.#hasStandingMarker() ? undefined : atMs }),
    } as const;
    if (!(await this.#decide(() => this.#deps.store.commitEnd(this.#head, commit, end), events))) return false;
    this.#work.abandonSteps();
    this.#deps.warmRuns?.noteEnded(runId);
    await afterEnd(this.#deps, runId, this.#options.limits);
    return true;
  }

  async #readInbox(): Promise<void> {
    for (const item of await this.#deps.store.readInbox(this.#head.runId)) this.#inbox.set(item.inboxId, item);
    this.#requests = undefined;
  }

  /** Of what an earlier turn has taken in, its owner may still take the marker away. */
  #hasStandingMarker(): boolean {
    const stands = (id: string, isTaken: boolean, { dueAtMs }: { readonly dueAtMs?: EpochMs }): boolean =>
      dueAtMs !== undefined && (!isTaken || this.#takenHere.has(id));
    const { settled, takenInbox } = this.#state;
    return (
      [...this.#tokens.values()].some((token) => stands(token.waitId, settled.has(token.waitId), token)) ||
      [...this.#inbox.values()].some((item) => stands(item.inboxId, takenInbox.has(item.inboxId), item))
    );
  }

  // ----- carrying out -----

  /** Begins what the log asks for and is not under way. False: there was too little time left for some of it. */
  #begin(execution: Execution): boolean {
    let hasTime = true;
    for (const wait of this.#state.open.values()) {
      if (this.#work.has(wait.waitId)) continue;
      const command = execution.command(wait.waitId);
      if (this.#givenUp.has(wait.waitId)) {
        hasTime = false;
      } else if (command === undefined) {
        this.#letGo(wait);
      } else if (wait.kind === 'step' && command.kind === 'runStep') {
        hasTime = this.#beginStep(wait, command) && hasTime;
      } else if (wait.kind === 'longStep') {
        this.#beginLongStep(wait);
      } else if (wait.kind === 'remoteTask' && command.kind === 'startRemoteTask') {
        hasTime = this.#beginRemote(wait, command) && hasTime;
      } else if (wait.kind === 'remoteAnswer') {
        hasTime = this.#beginAnswer(wait) && hasTime;
      } else if (wait.kind === 'external') {
        this.#beginExternal(wait);
      } else if (wait.kind === 'child' && command.kind === 'startChild') {
        this.#beginChild(wait, command);
      }
    }
    return hasTime;
  }

  #beginStep(wait: OpenStep, asked: RunStep): boolean {
    const command = asked.policy.long ? inTurn(asked) : asked;
    if (this.#isLater(wait) || this.#work.count('step') >= this.#stepsAtATime()) return true;
    const { waitId, requestedAtMs } = wait;
    const { policy } = command;
    const attempt = wait.failedAttempts + 1;
    const atMs = this.#deps.clock.nowMs();
    const deadlineAtMs = policy.deadlineMs === undefined ? undefined : requestedAtMs + policy.deadlineMs;
    if (deadlineAtMs !== undefined && deadlineAtMs <= atMs) {
      this.#work.results.push({ type: 'StepFailed', atMs, waitId, attempt, error: stepDeadlinePassed(command) });
      return true;
    }
    const longestMs = Math.min(policy.timeoutMs, (deadlineAtMs ?? Infinity) - atMs);
    if (this.#options.limits.remainingMs() < longestMs + turnReserveMs) return false;
    if (!this.#work.isAnnounced(wait)) {
      const isUnharmed = this.#isUnharmed(wait);
      const error = interruption(command, wait.interrupted - (isUnharmed ? 1 : 0));
      if (error !== undefined) {
        this.#work.results.push({ type: 'StepFailed', atMs, waitId, attempt, error });
        return true;
      }
      if (policy.atMostOnce || this.#isCareful() || isUnharmed) {
        const unharmed = isUnharmed ? { unharmed: true as const } : {};
        this.#work.results.push({ type: 'StepStarted', atMs, waitId, attempt, ...unharmed });
        return true;
      }
    }
    this.#work.begun(wait, !policy.atMostOnce);
    this.#run(wait, 'step', (signal) =>
      runStep(this.#deps, this.#head.runId, { ...wait, deadlineAtMs }, command, signal),
    );
    return true;
  }

  /** A turn that gave up has said of the last start in the log that nobody died of it. */
  #isUnharmed({ waitId, failedAttempts, begun }: OpenStep): boolean {
    return (this.#options.unharmed ?? []).some(
      (start) => start.waitId === waitId && start.attempt === failedAttempts + 1 && start.begun === begun,
    );
  }

  /** A worker runs it; the turn only asks for that, and for the next attempt when somebody wants it now. */
  #beginLongStep(wait: OpenLongStep): void {
    const { waitId, retryNowAtMs } = wait;
    if (this.#isSettled(wait) || this.#expire(wait) || this.#isOutsideFull()) return;
    const { runId } = this.#head;
    if (!this.#tokens.has(waitId)) {
      this.#run(wait, 'outside', async () => {
        this.#tokens.set(waitId, await requestLongStep(this.#deps, runId, wait, this.#persist));
        return undefined;
      });
    } else if (retryNowAtMs !== undefined && this.#hastened.get(waitId) !== retryNowAtMs) {
      this.#hastened.set(waitId, retryNowAtMs);
      this.#run(wait, 'outside', async () => {
        const token = await hastenLongStep(this.#deps, runId, wait, retryNowAtMs, this.#persist);
        if (token !== undefined) this.#tokens.set(waitId, token);
        return undefined;
      });
    }
  }

  /** The message has been delivered before: somebody died with it, perhaps of a step. */
  #isCareful(): boolean {
    return (this.#options.limits.deliveryCount ?? 1) > 1;
  }

  #stepsAtATime(): number {
    return this.#isCareful() ? 1 : stepsInParallel;
  }

  #isOutsideFull(): boolean {
    return this.#work.count('outside') >= outsideInParallel;
  }

  #isLater(wait: OpenWait): boolean {
    // Nothing is put off; it may wait for answers.
    if (wait.kind === 'remoteTask' && wait.retryAtMs === undefined) return false;
    return (this.#waitDueAtMs(wait) ?? 0) > this.#deps.clock.nowMs();
  }

  #beginRemote(wait: OpenRemoteTask, command: StartRemoteTask): boolean {
    if (this.#isStarted(wait) || this.#isLater(wait) || this.#isOutsideFull()) return true;
    if (this.#waitsForAnswers(wait)) return true;
    if (this.#isWithWorker(wait)) return true;
    // A start that the end of the process cuts off may leave a task that nobody knows.
    if (this.#options.limits.remainingMs() < startReserveMs) return false;
    const { turnId, called, limits } = this.#options;
    this.#run(wait, 'outside', async () => {
      const { runId, deadlineAtMs: runEndsAtMs } = this.#head;
      const start = { runId, wait, command, turnId, called, limits, runEndsAtMs, persist: this.#persist };
      const { token, attempted, heldUntilMs, isPutOff } = await startWhenFree(this.#deps, start);
      if (isPutOff === true) this.#givenUp.add(wait.waitId);
      if (heldUntilMs !== undefined) this.#heldUntilMs.set(wait.waitId, heldUntilMs);
      if (token !== undefined) this.#tokens.set(wait.waitId, token);
      return attempted;
    });
    return true;
  }

  /** A worker makes the next attempt: no turn calls meanwhile, and nothing of it is due here. */
  #isWithWorker(wait: OpenRemoteTask): boolean {
    const token = this.#tokens.get(wait.waitId);
    return token !== undefined && isNextWithWorker(wait, token);
  }

  /** Nothing is left to do about what a worker has left on the item, or it is due in another way: the log has it. */
  #isWorkerStartTaken({ waitId, workerStart, handle, settlement }: TokenRecord): boolean {
    const wait = this.#state.open.get(waitId);
    if (workerStart === undefined || handle !== undefined || settlement !== undefined) return false;
    return wait?.kind === 'remoteTask' && !this.#isWithWorker(wait);
  }

  /** The server has asked before it makes a task, and not all of it is answered. */
  #waitsForAnswers(wait: OpenRemoteTask): boolean {
    const questions = this.#tokens.get(wait.waitId)?.questions;
    if (questions?.round === undefined || questions.round !== wait.rounds) return false;
    const { list, round } = questions;
    const isAnswered = list.every((question) => wait.answers.has(questionIdOf({ question, round })));
    return !isAnswered && this.#deps.clock.nowMs() < wait.deadlineAtMs;
  }

  #beginAnswer(wait: OpenRemoteAnswer): boolean {
    if (this.#isLater(wait) || this.#isOutsideFull()) return true;
    if (this.#options.limits.remainingMs() < answerReserveMs) return false;
    const call = this.#state.open.get(wait.callId);
    const remote = call?.kind === 'remoteTask' ? call : undefined;
    this.#run(wait, 'outside', async () => {
      const token = this.#tokens.get(wait.callId);
      return answerRemote(this.#deps, this.#head.runId, wait, remote, token);
    });
    return true;
  }

  #beginExternal(wait: OpenExternal): void {
    if (this.#isSettled(wait) || this.#expire(wait) || wait.issued || this.#isOutsideFull()) return;
    this.#run(wait, 'outside', async () => {
      const { token, issued } = await issueToken(this.#deps, this.#head.runId, wait, this.#persist);
      this.#tokens.set(wait.waitId, token);
      return issued;
    });
  }

  #beginChild(wait: OpenChild, command: StartChild): void {
    if (this.#isSettled(wait) || this.#expire(wait) || wait.started || this.#isOutsideFull()) return;
    this.#run(wait, 'outside', async () => {
      const { token, started } = await startChild(this.#deps, this.#head, wait, command, this.#persist);
      this.#tokens.set(wait.waitId, token);
      return started;
    });
  }

  /** Ends a wait whose deadline has passed. True: it has. */
  #expire(wait: OpenExternal | OpenChild | OpenLongStep): boolean {
    const { waitId } = wait;
    const deadlineAtMs = this.#deadlineOf(wait);
    // Before its item is there it is not settled, but put first.
    if (deadlineAtMs === undefined || deadlineAtMs > this.#deps.clock.nowMs() || !this.#tokens.has(waitId))
      return false;
    this.#run(wait, 'outside', async () => {
      const settlement = {
        writerId: this.#deps.random.hex(16),
        atMs: this.#deps.clock.nowMs(),
        by: 'timeout',
        outcome: { kind: 'timed_out' },
      } as const;
      const options = { onlyIfDeadlineIs: deadlineAtMs };
      const settle = () => this.#deps.store.settle(this.#head.runId, waitId, settlement, options);
      const { token } = await this.#persist(settle);
      if (token !== undefined) this.#tokens.set(waitId, token);
      return undefined;
    });
    return true;
  }

  /** As the log has it, unless a heartbeat has moved it since. */
  #deadlineOf(wait: OpenExternal | OpenChild | OpenLongStep): EpochMs | undefined {
    return this.#tokens.get(wait.waitId)?.deadlineAtMs ?? wait.deadlineAtMs;
  }

  /** The workflow no longer waits for it: its token is closed, and with it what runs elsewhere. */
  #letGo(wait: OpenWait): void {
    if (!this.#state.openTokens.has(wait.waitId) || this.#isSettled(wait)) return;
    this.#run(wait, 'outside', async () => {
      const close = {
        writerId: this.#deps.random.hex(16),
        atMs: this.#deps.clock.nowMs(),
        outcome: 'abandoned',
      } as const;
      const token = await this.#persist(() => this.#deps.store.close(this.#head.runId, wait.waitId, close));
      if (token !== undefined) this.#tokens.set(wait.waitId, token);
      return undefined;
    });
  }

  #isSettled(wait: Pick<OpenWait, 'waitId'>): boolean {
    return this.#tokens.get(wait.waitId)?.settlement !== undefined;
  }

  #isStarted(wait: OpenRemoteTask): boolean {
    return wait.handle !== undefined || this.#tokens.get(wait.waitId)?.handle !== undefined || this.#isSettled(wait);
  }

  #run(
    wait: OpenWait,
    kind: 'step' | 'outside',
    work: (signal: AbortSignal) => Promise<HistoryEvent | undefined>,
  ): void {
    const { waitId } = wait;
    const attempt = wait.kind === 'step' ? wait.failedAttempts + 1 : 1;
    this.#work.begin({ waitId, attempt }, kind, work, (error) => {
      this.#deps.log.warn('effect failed', { runId: this.#head.runId, waitId, error });
      if (isStoreTrouble(error)) this.#givenUp.add(waitId);
      else this.#effectError ??= error instanceof Error ? error : new Error('an effect failed', { cause: error });
    });
  }

  /** Waits until an effect ends, a timer is due, or it is time to look for a cancel. */
  async #someEffect(): Promise<void> {
    // What is as good as done needs no timer.
    await this.#deps.drain();
    if (this.#work.underWay > 0 && this.#work.results.length === 0) await this.#waitForEffect();
    const nowMs = this.#deps.clock.nowMs();
    if (nowMs - this.#lastInboxReadMs < inboxCheckMs) return;
    this.#lastInboxReadMs = nowMs;
    try {
      await this.#readInbox();
    } catch (error) {
      // Looked at again in a moment; what has come has a marker of its own.
      if (!isStoreTrouble(error)) this.#effectError ??= error instanceof Error ? error : new Error('inbox not read');
    }
  }

  async #waitForEffect(): Promise<void> {
    const cut = new AbortController();
    const nowMs = this.#deps.clock.nowMs();
    // What was due before the last look was acted on, or cannot be until an effect ends.
    const instants = this.#dueInstants().filter((atMs) => atMs > this.#lookedAtMs);
    const nextDueAtMs = Math.min(...instants, nowMs + inboxCheckMs);
    await Promise.race([this.#work.someEnd(), this.#deps.delay(Math.max(0, nextDueAtMs - nowMs), cut.signal)]);
    cut.abort('done');
  }

  // ----- stopping -----

  #isShortOfTime(): boolean {
    return this.#work.underWay === 0 && this.#options.limits.remainingMs() < turnReserveMs;
  }

  async #goOnLater(): Promise<true> {
    await this.#yield();
    return true;
  }

  /** Too little time for what is left: another turn goes on. Every marker stands. */
  async #yield(): Promise<void> {
    const { runId } = this.#head;
    await wakeForRest(this.#deps, runId, this.#work.unharmed());
    await this.#outbox?.publish();
    if (this.#outbox?.publishedSeq !== undefined) await this.#deps.store.setPublished(runId, this.#outbox.publishedSeq);
  }

  /** Nothing is left to do now: the head's marker, then those of what was taken in. */
  async #quiet(): Promise<void> {
    const { runId } = this.#head;
    const dueAtMs = this.#nextDueAtMs();
    const marker = await this.#publish(dueAtMs);
    const { blocks, blocked, failedTurns } = this.#head;
    const isNew = this.#head.dueAtMs !== marker.dueAtMs || marker.publishedSeq !== undefined;
    // One that stands must be that of the log as it is now, or an owner of before could take it away.
    const isOlder = marker.dueAtMs !== undefined && this.#head.dueSeq < this.#state.seq;
    if (isNew || isOlder || blocked !== undefined || failedTurns !== undefined) {
      const isSet = await this.#deps.store.setHeadMarker(runId, { seq: this.#state.seq, blocks, ...marker });
      if (!isSet) await wakeRun(this.#deps, runId);
    }
    if (dueAtMs !== undefined && dueAtMs - this.#deps.clock.nowMs() <= delayedMessageMaxMs)
      await wakeRunAt(this.#deps, runId, dueAtMs);
    await this.#takeQuestions();
    await this.#clearMarkers(
      (token) => this.#state.settled.has(token.waitId) || this.#isWorkerStartTaken(token),
      (item) => this.#state.takenInbox.has(item.inboxId),
    );
  }

  /** Tells what is left to tell, and gives the marker that the head may have then; `dueAtMs` is the run's own. */
  async #publish(dueAtMs: EpochMs | undefined): Promise<Marker> {
    const isPublished = (await this.#outbox?.publish()) ?? true;
    return {
      dueAtMs: isPublished ? dueAtMs : dueSince(this.#head, this.#deps.clock.nowMs()),
      publishedSeq: this.#outbox?.publishedSeq,
    };
  }

  /** Until this is written, each read of a task that asks wakes the run: a marker like the others, and moved as late. */
  async #takeQuestions(): Promise<void> {
    for (const token of this.#tokens.values()) {
      const { runId, waitId, questions } = token;
      if (questions === undefined || questions.recorded <= questions.taken) continue;
      await this.#deps.store.takeQuestions(runId, waitId, questions.recorded);
      this.#tokens.set(waitId, { ...token, questions: { ...questions, taken: questions.recorded } });
    }
  }

  /**
   * Nothing is under way and all that the workflow asked for is in the log: the next turn in this process may go on from
   * here. What has been taken in is forgotten; where its marker still stands, the sweep's wake has all of it read again.
   */
  #keep(workflow: AnyWorkflow, execution: Execution): void {
    const { warmRuns } = this.#deps;
    if (warmRuns === undefined) return;
    const { openTokens, takenInbox } = this.#state;
    for (const waitId of this.#tokens.keys()) if (!openTokens.has(waitId)) this.#tokens.delete(waitId);
    for (const inboxId of this.#inbox.keys()) if (takenInbox.has(inboxId)) this.#inbox.delete(inboxId);
    const { state, tokens, inbox } = this.#from;
    warmRuns.keep(this.#head.runId, {
      workflow,
      execution,
      state,
      tokens,
      inbox,
      blocks: this.#head.blocks,
      unpublished: this.#outbox?.events,
    });
  }

  #dueInstants(): readonly EpochMs[] {
    const instants: EpochMs[] = this.#head.deadlineAtMs === undefined ? [] : [this.#head.deadlineAtMs];
    for (const wait of this.#state.open.values()) {
      if (this.#work.has(wait.waitId) || !this.#isWaitedFor(wait)) continue;
      if (wait.kind === 'remoteTask' && (this.#isStarted(wait) || this.#isWithWorker(wait))) continue;
      const mayMove = wait.kind === 'external' || wait.kind === 'child' || wait.kind === 'longStep';
      const dueAtMs = mayMove ? this.#deadlineOf(wait) : this.#waitDueAtMs(wait);
      if (dueAtMs !== undefined) instants.push(dueAtMs);
    }
    return instants;
  }

  /** As the log has it, unless the server of a start is left alone for longer. */
  #waitDueAtMs(wait: OpenWait): EpochMs | undefined {
    const heldUntilMs = wait.kind === 'remoteTask' ? this.#heldUntilMs.get(wait.waitId) : undefined;
    if (wait.kind !== 'remoteTask' || heldUntilMs === undefined) return waitDueAtMs(wait);
    return Math.min(Math.max(heldUntilMs, wait.retryAtMs ?? 0), wait.deadlineAtMs);
  }

  #nextDueAtMs(): EpochMs | undefined {
    const instants = this.#dueInstants();
    return instants.length === 0 ? undefined : Math.min(...instants);
  }

  /**
   * The run is paused: nothing more is begun, and nothing reaches the workflow. What is under way ends, and what came of it
   * is committed with the pause; all else that has come waits where it is. The execution has not seen these events, so
   * after this pass it is used no more.
   */
  async #pause(): Promise<boolean> {
    for (;;) {
      this.#lookedAtMs = this.#deps.clock.nowMs();
      const terminate = this.#known.requests.find(isTerminate);
      if (terminate !== undefined) return this.#end(this.#takeIn(), terminated(terminate));
      if (this.#isOverdue()) return this.#end(this.#takeIn(), runTimedOut(this.#head.workflow));
      const atMs = this.#deps.clock.nowMs();
      const { results } = this.#work;
      // A start of a step that is not begun now would look like one that its process died of.
      const ended = results.splice(0, fittingCount(results)).filter((event) => isOnlyKnownHere.has(event.type));
      const events = [...ended, ...pauseNews(this.#known, atMs)];
      if (events.length > 0) {
        if (!(await this.#commit([...this.#firstEvents(atMs), ...events]))) return false;
        // What is under way goes on meanwhile, and what the pause held back may be due.
        if (pausedUntilMs(this.#known, atMs) === undefined) return false;
      } else if (this.#work.underWay > 0) await this.#someEffect();
      else if (results.length === 0) break;
    }
    const untilMs = pausedUntilMs(this.#known, this.#deps.clock.nowMs());
    return untilMs === undefined ? false : this.#restUntil(untilMs);
  }

  /** The head's marker alone brings the run back: then, or when the whole run is to have ended. */
  async #restUntil(untilMs: EpochMs, deadlineAtMs = this.#head.deadlineAtMs ?? Infinity): Promise<boolean> {
    const dueAtMs = Math.min(untilMs, deadlineAtMs);
    const marker = await this.#publish(dueAtMs);
    const { runId, blocks } = this.#head;
    const isSet = await this.#deps.store.setHeadMarker(runId, { seq: this.#state.seq, blocks, ...marker });
    if (!isSet) await wakeRun(this.#deps, runId);
    await this.#clearMarkers(
      (token) => token.settlement !== undefined,
      () => true,
    );
    return true;
  }

  /**
   * The run cannot go on with this deployment. Nothing that was read is taken in, so nothing is lost; the head's marker
   * alone brings the run back, ever more seldom. What effects ended with is in no item yet: it is committed, or steps
   * would run again each time, and a start that was turned away would look like one of unknown fate.
   */
  async #park(error: StoredError, taken: readonly HistoryEvent[] = []): Promise<boolean> {
    this.#work.takeBack(taken);
    if (!(await this.#recordInHand())) return false;
    if (await blockRun(this.#deps, this.#head, this.#state.seq, error, this.#outbox)) {
      await this.#clearMarkers(
        (token) => token.settlement !== undefined,
        () => true,
      );
    }
    return true;
  }

  /** Waits for what is under way, and commits what it ends with and nothing else. False: a commit was lost. */
  async #recordInHand(): Promise<boolean> {
    await this.#work.allEnd();
    const { results } = this.#work;
    while (results.length > 0) {
      const fitting = results.splice(0, fittingCount(results)).filter((event) => isOnlyKnownHere.has(event.type));
      if (fitting.length > 0 && !(await this.#commit(fitting))) return false;
    }
    return true;
  }

  async #clearMarkers(
    tokenIsDone: (token: TokenRecord) => boolean,
    inboxIsDone: (item: InboxRecord) => boolean,
  ): Promise<void> {
    const done = [...this.#tokens.values()].filter((token) => token.dueAtMs !== undefined && tokenIsDone(token));
    await releaseTokens(this.#deps, done, this.#options.limits);
    const { runId } = this.#head;
    const taken = [...this.#inbox.values()].filter(inboxIsDone);
    if (!(await releaseInbox(this.#deps, runId, taken, this.#options.limits))) await wakeRun(this.#deps, runId);
  }
}

/** A step that was asked for as a short one, and has become a long one by a deploy, stays within the time of a turn. */
function inTurn(step: RunStep): RunStep {
  const timeoutMs = Math.min(step.policy.timeoutMs, stepTimeoutMaxMs);
  return { ...step, policy: { ...step.policy, timeoutMs } };
}

function isTerminate(item: InboxRecord): item is InboxRecord & { readonly kind: 'terminate' } {
  return item.kind === 'terminate';
}

function isCancel(item: InboxRecord): item is InboxRecord & { readonly kind: 'cancel' } {
  return item.kind === 'cancel';
}

function cancelled({ reason }: { readonly reason?: string }): RunOutcome {
  return { status: 'cancelled', ...defined({ reason }) };
}

function terminated({ reason }: { readonly reason?: string }): RunOutcome {
  return { status: 'terminated', ...defined({ reason }) };
}

function workflowMissing(name: string): StoredError {
  return storedError(
    'WORKFLOW_NOT_FOUND',
    `no workflow is named "${name}" in this deployment; after a deploy that has it the run goes on by itself`,
  );
}
