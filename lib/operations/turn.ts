import { storedError, type StoredError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import {
  delayedMessageMaxMs,
  inboxCheckMs,
  outsideInParallel,
  requestsPerCommit,
  requestTimeoutMs,
  stepsInParallel,
  stepTimeoutMaxMs,
  turnReserveMs,
} from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import { waitDueAtMs } from '../decide/deadline.js';
import type { HistoryEvent, RunOutcome } from '../history/event.js';
import { lifecycleEventsOf } from '../history/lifecycle-event.js';
import { questionIdOf } from '../history/remote-question.js';
import type {
  OpenChild,
  OpenExternal,
  OpenLongStep,
  OpenRemoteAnswer,
  OpenRemoteTask,
  OpenStep,
  OpenWait,
  RunState,
} from '../history/run-state.js';
import type { Settlement } from '../history/settlement.js';
import type { RunStep, StartChild, StartRemoteTask } from '../replay/command.js';
import { type Execution, replayBehaviors } from '../replay/execution.js';
import type { InboxRecord, RunHead, TokenRecord } from '../store/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import { answerRemote } from './answer-remote.js';
import { blockRun } from './block-run.js';
import type { Deps } from './deps.js';
import { afterEnd, finishRun, needsStop, parentGone, releaseTokens } from './end-run.js';
import { interruption } from './interrupted-step.js';
import { issueToken } from './issue-token.js';
import type { KnownRun } from './known-run.js';
import { openExecution } from './open-execution.js';
import { dueSince, Outbox } from './outbox.js';
import { hastenLongStep, requestLongStep } from './request-long-step.js';
import type { TurnLimits } from './turn-limits.js';
import { runStep } from './run-step.js';
import { startChild } from './start-child.js';
import { startWhenFree } from './start-when-free.js';
import { fittingCount, hasNews, newHandles, newInbox, pausedUntilMs, takeIn, type Known } from './take-in.js';
import { toRequest } from './to-request.js';
import { wakeRun, wakeRunAt } from './wake.js';

interface TurnOptions {
  readonly turnId: string;
  /** Writer ids under which this turn has called a remote server, kept over its passes. */
  readonly called: Set<string>;
  readonly limits: TurnLimits;
}

/** Work of a turn that is under way. `outside`: it must not be left alone, what it does there has to be recorded. */
interface Effect {
  readonly kind: 'step' | 'outside';
  readonly done: Promise<void>;
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
 * T3  A lost commit ends the pass; nothing of what it knew is used again.
 * T4  Markers are moved last, when the run is quiet: until then whatever led here stands.
 * T5  A pass does not end before its remote starts have: their handles are stored, or their tasks cancelled.
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
  readonly #effects = new Map<WaitId, Effect>();
  /** Attempts whose start this pass has recorded, because a crash during them must be noticed. */
  readonly #announced = new Set<string>();
  /** Starts whose server is left alone, and until when. The log has that it is, not each time that it was found so. */
  readonly #heldUntilMs = new Map<WaitId, EpochMs>();
  /** Long steps whose next attempt this pass has asked for, by the request for which it did. */
  readonly #hastened = new Map<WaitId, EpochMs>();
  readonly #abandon = new AbortController();
  /** Results of effects that no commit holds yet. */
  #results: HistoryEvent[] = [];
  /** What broke an effect: a store that failed, never an author's step. */
  #effectError: Error | undefined;
  #lastInboxReadMs: EpochMs;
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
    this.#known = { state, tokens, inbox, isWaitedFor: (wait) => this.#isWaitedFor(wait) };
    this.#outbox = run.unpublished === undefined ? undefined : new Outbox(deps, run.unpublished, options.limits);
    this.#lastInboxReadMs = deps.clock.nowMs();
  }

  /** False: a commit was lost, read again. */
  async run(workflow: AnyWorkflow | undefined): Promise<boolean> {
    const nowMs = this.#deps.clock.nowMs();
    // Neither needs the workflow's code, so they also end a run that is blocked or paused.
    const terminate = newInbox(this.#known).find(isTerminate);
    if (terminate !== undefined) return this.#end(this.#takeIn(), terminated(terminate));
    if (this.#head.deadlineAtMs !== undefined && this.#head.deadlineAtMs <= nowMs)
      return this.#end(this.#takeIn(), timedOut(this.#head));

    const stop = this.#state.seq === 0 ? await this.#stopOfParent() : undefined;
    if (stop !== undefined) return this.#end(this.#takeIn(), stop);
    if (this.#state.seq === 0 && this.#head.startAtMs !== undefined && nowMs < this.#head.startAtMs)
      return this.#waitForStart(this.#head.startAtMs);
    const pausedUntil = pausedUntilMs(this.#known, nowMs);
    if (pausedUntil !== undefined) return this.#pause(pausedUntil);
    if (workflow === undefined) return this.#park(workflowMissing(this.#head.workflow));

    const execution = this.#from.execution ?? (await this.#replayed(workflow));
    this.#execution = execution;
    try {
      return await this.#goOn(workflow, execution);
    } finally {
      this.#abandon.abort();
      await this.#outsideDone();
    }
  }

  /** Not begun yet. A cancel finds no code that could clean up: it ends the run at once, without a `RunStarted`. */
  async #waitForStart(startAtMs: EpochMs): Promise<boolean> {
    const cancel = newInbox(this.#known).find(isCancel);
    if (cancel === undefined) return this.#restUntil(startAtMs);
    return this.#end(takeIn(this.#known, [], this.#deps.clock.nowMs()), cancelled(cancel));
  }

  async #replayed(workflow: AnyWorkflow): Promise<Execution> {
    const execution = openExecution(this.#deps, workflow, this.#head, this.#state, this.#tokens, this.#inbox);
    for (const commit of this.#from.commits) for (const event of commit.events) await execution.apply(event);
    execution.goLive();
    return execution;
  }

  async #goOn(workflow: AnyWorkflow, execution: Execution): Promise<boolean> {
    for (;;) {
      const events = this.#takeIn();
      const terminate = events.find((event) => event.type === 'TerminateRequested');
      if (terminate !== undefined) return this.#end(events, terminated(terminate));
      for (const event of events) await execution.apply(event);
      if (execution.status.kind === 'blocked') return this.#park(execution.status.error, events);
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
        const mayBeMore = asked.length === requestsPerCommit || requested.length < asked.length;
        if (mayBeMore || this.#results.length > 0) continue;
      }

      const hasTime = this.#begin(execution);
      if (this.#results.length > 0) continue;
      if (this.#effects.size > 0) await this.#someEffect();
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

  #isWaitedFor(wait: OpenWait): boolean {
    return this.#execution?.command(wait.waitId) !== undefined;
  }

  // ----- taking in -----

  #takeIn(): readonly HistoryEvent[] {
    const nowMs = this.#deps.clock.nowMs();
    const results = this.#results.splice(0, fittingCount(this.#results));
    const news = takeIn(this.#known, results, nowMs);
    const events = this.#firstEvents(nowMs);
    if (this.#state.pausedUntilMs !== undefined && !news.some((event) => event.type === 'RunResumed')) {
      events.push({ type: 'RunResumed', atMs: this.#state.pausedUntilMs });
    }
    return news.length === 0 && !this.#tellsStarts() && this.#execution?.isLeaving !== true
      ? events
      : [...events, ...newHandles(this.#known), ...news];
  }

  /** A handle is worth no commit of its own, but where somebody is to be told of the start. Those of a turn share one. */
  #tellsStarts(): boolean {
    return this.#outbox !== undefined && this.#effects.size === 0;
  }

  #firstEvents(atMs: EpochMs): HistoryEvent[] {
    if (this.#state.seq > 0) return [];
    const { workflow, version } = this.#head;
    return [{ type: 'RunStarted', atMs, workflow, version, behaviors: replayBehaviors }];
  }

  // ----- committing -----

  async #commit(events: readonly HistoryEvent[]): Promise<boolean> {
    const seq = this.#state.seq + 1;
    const committed = await this.#deps.store.commit(this.#head.runId, {
      seq,
      writerId: this.#deps.random.hex(16),
      events,
    });
    if (!committed) return false;
    const settlementOf = (waitId: WaitId): Settlement | undefined => this.#tokens.get(waitId)?.settlement;
    this.#outbox?.add(lifecycleEventsOf(this.#head, this.#state, { seq, events }, settlementOf));
    this.#state.applyCommit(seq, events);
    return true;
  }

  /** The workflow has ended: fixes the outcome, and ends the run in the same transaction when no wait is open. */
  async #end(events: readonly HistoryEvent[], outcome: RunOutcome): Promise<boolean> {
    const { runId } = this.#head;
    // As this turn has seen it: it may have read the inbox again since it read the head.
    const inboxCount = this.#state.takenInbox.size + newInbox(this.#known).length;
    const atMs = this.#deps.clock.nowMs();
    const seq = this.#state.seq + 1;
    const writerId = this.#deps.random.hex(16);
    const ending: readonly HistoryEvent[] = [...events, { type: 'RunEnding', atMs, outcome }];
    const hasOpenWaits = [...this.#state.openTokens.keys()].some(
      (waitId) => this.#tokens.get(waitId)?.settlement === undefined,
    );
    if (hasOpenWaits) {
      if (!(await this.#deps.store.commitEnding(runId, { seq, writerId, events: ending }, inboxCount)))
        return this.#keepResults(events);
      await finishRun(this.#deps, runId, this.#options.limits);
      return true;
    }
    const committed = await this.#deps.store.commitEnd(
      this.#head,
      { seq, writerId, events: [...ending, { type: 'RunEnded', atMs, status: outcome.status }] },
      {
        outcome,
        endedAtMs: atMs,
        seen: { status: 'running', inboxCount },
        // Another marker that stands brings the run back just as well, and one write less is paid.
        ...(this.#hasStandingMarker() ? {} : { markAtMs: atMs }),
      },
    );
    if (!committed) return this.#keepResults(events);
    await afterEnd(this.#deps, runId, this.#options.limits);
    return true;
  }

  /**
   * The end was refused: something was accepted that this pass has not seen, or another turn was first. What steps of
   * this pass ended with is in no item, and they would run again; it is committed with what has come, if it still can be.
   */
  async #keepResults(events: readonly HistoryEvent[]): Promise<false> {
    this.#results = events.filter((event) => isOnlyKnownHere.has(event.type));
    if (this.#results.length === 0) return false;
    for (const item of await this.#deps.store.readInbox(this.#head.runId)) this.#inbox.set(item.inboxId, item);
    // A terminate ends the run with the next pass; in a commit of its own it would be passed over.
    if (!newInbox(this.#known).some(isTerminate)) await this.#commit(this.#takeIn());
    return false;
  }

  #hasStandingMarker(): boolean {
    const isMarked = (record: { readonly dueAtMs?: EpochMs }): boolean => record.dueAtMs !== undefined;
    return [...this.#tokens.values()].some(isMarked) || [...this.#inbox.values()].some(isMarked);
  }

  // ----- carrying out -----

  /** Begins what the log asks for and is not under way. False: there was too little time left for some of it. */
  #begin(execution: Execution): boolean {
    let hasTime = true;
    for (const wait of this.#state.open.values()) {
      if (this.#effects.has(wait.waitId)) continue;
      const command = execution.command(wait.waitId);
      if (command === undefined) {
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
    if (this.#isLater(wait) || this.#running('step') >= this.#stepsAtATime()) return true;
    if (this.#options.limits.remainingMs() < command.policy.timeoutMs + turnReserveMs) return false;
    const attempt = wait.failedAttempts + 1;
    const announcement = `${wait.waitId}/${attempt}`;
    if (!this.#announced.has(announcement)) {
      const error = interruption(command, wait.interrupted);
      if (error !== undefined) {
        const atMs = this.#deps.clock.nowMs();
        this.#results.push({ type: 'StepFailed', atMs, waitId: wait.waitId, attempt, error });
        return true;
      }
      if (command.policy.atMostOnce || this.#isCareful()) {
        this.#announced.add(announcement);
        this.#results.push({ type: 'StepStarted', atMs: this.#deps.clock.nowMs(), waitId: wait.waitId, attempt });
        return true;
      }
    }
    this.#run(wait, 'step', async () => {
      this.#results.push(await runStep(this.#deps, this.#head.runId, wait, command, this.#abandon.signal));
    });
    return true;
  }

  /** A worker runs it; the turn only asks for that, and for the next attempt when somebody wants it now. */
  #beginLongStep(wait: OpenLongStep): void {
    const { waitId, retryNowAtMs } = wait;
    if (this.#isSettled(wait) || this.#expire(wait) || this.#running('outside') >= outsideInParallel) return;
    const { runId } = this.#head;
    if (!this.#tokens.has(waitId)) {
      this.#run(wait, 'outside', async () => {
        this.#tokens.set(waitId, await requestLongStep(this.#deps, runId, wait));
      });
    } else if (retryNowAtMs !== undefined && this.#hastened.get(waitId) !== retryNowAtMs) {
      this.#hastened.set(waitId, retryNowAtMs);
      this.#run(wait, 'outside', async () => {
        const token = await hastenLongStep(this.#deps, runId, wait, retryNowAtMs);
        if (token !== undefined) this.#tokens.set(waitId, token);
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

  #running(kind: Effect['kind']): number {
    let count = 0;
    for (const effect of this.#effects.values()) if (effect.kind === kind) count++;
    return count;
  }

  #isLater(wait: OpenWait): boolean {
    // Nothing is put off; it may wait for answers.
    if (wait.kind === 'remoteTask' && wait.retryAtMs === undefined) return false;
    return (this.#waitDueAtMs(wait) ?? 0) > this.#deps.clock.nowMs();
  }

  #beginRemote(wait: OpenRemoteTask, command: StartRemoteTask): boolean {
    if (this.#isStarted(wait) || this.#isLater(wait) || this.#running('outside') >= outsideInParallel) return true;
    if (this.#waitsForAnswers(wait)) return true;
    // A start that the end of the process cuts off may leave a task that nobody knows.
    if (this.#options.limits.remainingMs() < requestTimeoutMs + turnReserveMs) return false;
    const { turnId, called } = this.#options;
    this.#run(wait, 'outside', async () => {
      const start = { runId: this.#head.runId, wait, command, turnId, called };
      const { token, attempted, heldUntilMs } = await startWhenFree(this.#deps, start);
      if (heldUntilMs !== undefined) this.#heldUntilMs.set(wait.waitId, heldUntilMs);
      if (token !== undefined) this.#tokens.set(wait.waitId, token);
      if (attempted !== undefined) this.#results.push(attempted);
    });
    return true;
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
    if (this.#isLater(wait) || this.#running('outside') >= outsideInParallel) return true;
    if (this.#options.limits.remainingMs() < requestTimeoutMs + turnReserveMs) return false;
    const call = this.#state.open.get(wait.callId);
    const remote = call?.kind === 'remoteTask' ? call : undefined;
    this.#run(wait, 'outside', async () => {
      const token = this.#tokens.get(wait.callId);
      this.#results.push(await answerRemote(this.#deps, this.#head.runId, wait, remote, token));
    });
    return true;
  }

  #beginExternal(wait: OpenExternal): void {
    if (this.#isSettled(wait) || this.#expire(wait) || wait.issued || this.#running('outside') >= outsideInParallel)
      return;
    this.#run(wait, 'outside', async () => {
      const { token, issued } = await issueToken(this.#deps, this.#head.runId, wait);
      this.#tokens.set(wait.waitId, token);
      this.#results.push(issued);
    });
  }

  #beginChild(wait: OpenChild, command: StartChild): void {
    if (this.#isSettled(wait) || this.#expire(wait) || wait.started || this.#running('outside') >= outsideInParallel)
      return;
    this.#run(wait, 'outside', async () => {
      const { token, started } = await startChild(this.#deps, this.#head, wait, command);
      this.#tokens.set(wait.waitId, token);
      if (started !== undefined) this.#results.push(started);
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
      const { token } = await this.#deps.store.settle(this.#head.runId, waitId, settlement, options);
      if (token !== undefined) this.#tokens.set(waitId, token);
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
      const token = await this.#deps.store.close(this.#head.runId, wait.waitId, close);
      if (token !== undefined) this.#tokens.set(wait.waitId, token);
    });
  }

  #isSettled(wait: Pick<OpenWait, 'waitId'>): boolean {
    return this.#tokens.get(wait.waitId)?.settlement !== undefined;
  }

  #isStarted(wait: OpenRemoteTask): boolean {
    return wait.handle !== undefined || this.#tokens.get(wait.waitId)?.handle !== undefined || this.#isSettled(wait);
  }

  #run(wait: OpenWait, kind: Effect['kind'], effect: () => Promise<void>): void {
    const done = effect()
      .catch((error: unknown) => {
        this.#deps.log.warn('effect failed', { runId: this.#head.runId, waitId: wait.waitId, error });
        this.#effectError ??= error instanceof Error ? error : new Error('an effect failed', { cause: error });
      })
      .finally(() => {
        this.#effects.delete(wait.waitId);
      });
    this.#effects.set(wait.waitId, { kind, done });
  }

  /** Waits until an effect ends, a timer is due, or it is time to look for a cancel. */
  async #someEffect(): Promise<void> {
    // What is as good as done needs no timer.
    await this.#deps.drain();
    if (this.#effects.size > 0 && this.#results.length === 0 && this.#effectError === undefined)
      await this.#waitForEffect();
    if (this.#effectError !== undefined) throw this.#effectError;
    const nowMs = this.#deps.clock.nowMs();
    if (nowMs - this.#lastInboxReadMs < inboxCheckMs) return;
    this.#lastInboxReadMs = nowMs;
    for (const item of await this.#deps.store.readInbox(this.#head.runId)) this.#inbox.set(item.inboxId, item);
  }

  async #waitForEffect(): Promise<void> {
    const cut = new AbortController();
    const nowMs = this.#deps.clock.nowMs();
    const nextDueAtMs = Math.min(...this.#dueInstants(), nowMs + inboxCheckMs);
    await Promise.race([
      ...[...this.#effects.values()].map((effect) => effect.done),
      this.#deps.delay(Math.max(0, nextDueAtMs - nowMs), cut.signal),
    ]);
    cut.abort('done');
  }

  async #outsideDone(): Promise<void> {
    const outside = [...this.#effects.values()].filter((effect) => effect.kind === 'outside');
    await Promise.all(outside.map((effect) => effect.done));
  }

  // ----- stopping -----

  /** Too little time for what is left: another turn goes on. Every marker stands. */
  async #yield(): Promise<void> {
    const { runId } = this.#head;
    await this.#outbox?.publish();
    if (this.#outbox?.publishedSeq !== undefined) await this.#deps.store.setPublished(runId, this.#outbox.publishedSeq);
    await wakeRun(this.#deps, runId);
  }

  /** Nothing is left to do now: the head's marker, then those of what was taken in. */
  async #quiet(): Promise<void> {
    const { runId } = this.#head;
    const dueAtMs = this.#nextDueAtMs();
    const marker = await this.#publish(dueAtMs);
    const { blocks, blocked } = this.#head;
    const isNew = this.#head.dueAtMs !== marker.dueAtMs || marker.publishedSeq !== undefined;
    // One that stays must be that of the log as it is now, or an owner of before could take it away.
    const isToStay = marker.dueAtMs !== dueAtMs && this.#head.dueSeq < this.#state.seq;
    if (isNew || isToStay || blocked !== undefined) {
      const isSet = await this.#deps.store.setHeadMarker(runId, { seq: this.#state.seq, blocks, ...marker });
      if (!isSet) await wakeRun(this.#deps, runId);
    }
    if (dueAtMs !== undefined && dueAtMs - this.#deps.clock.nowMs() <= delayedMessageMaxMs)
      await wakeRunAt(this.#deps, runId, dueAtMs);
    await this.#takeQuestions();
    await this.#clearMarkers(
      (token) => this.#state.settled.has(token.waitId),
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
      if (this.#effects.has(wait.waitId) || !this.#isWaitedFor(wait)) continue;
      if (wait.kind === 'remoteTask' && this.#isStarted(wait)) continue;
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

  /** Takes in that the run is paused and nothing else; what has come meanwhile waits where it is. */
  async #pause(untilMs: EpochMs): Promise<boolean> {
    const atMs = this.#deps.clock.nowMs();
    const control = takeIn(this.#known, [], atMs).filter(
      (event) => event.type === 'RunPaused' || event.type === 'RunResumed',
    );
    if (control.length > 0 && !(await this.#commit([...this.#firstEvents(atMs), ...control]))) return false;
    return this.#restUntil(untilMs);
  }

  /** The head's marker alone brings the run back: then, or when the whole run is to have ended. */
  async #restUntil(untilMs: EpochMs): Promise<boolean> {
    const dueAtMs = Math.min(untilMs, this.#head.deadlineAtMs ?? Infinity);
    const marker = await this.#publish(dueAtMs);
    const { blocks } = this.#head;
    await this.#deps.store.setHeadMarker(this.#head.runId, { seq: this.#state.seq, blocks, ...marker });
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
    const results = taken.filter((event) => isOnlyKnownHere.has(event.type));
    if (results.length > 0 && !(await this.#commit(results))) return false;
    if (await blockRun(this.#deps, this.#head, this.#state.seq, error, this.#outbox)) {
      await this.#clearMarkers(
        (token) => token.settlement !== undefined,
        () => true,
      );
    }
    return true;
  }

  async #clearMarkers(
    tokenIsDone: (token: TokenRecord) => boolean,
    inboxIsDone: (item: InboxRecord) => boolean,
  ): Promise<void> {
    const done = [...this.#tokens.values()].filter((token) => token.dueAtMs !== undefined && tokenIsDone(token));
    await releaseTokens(this.#deps, done, this.#options.limits);
    for (const item of this.#inbox.values()) {
      if (item.dueAtMs !== undefined && inboxIsDone(item)) {
        await this.#deps.store.clearInboxMarker(this.#head.runId, item.inboxId);
      }
    }
  }
}

/** Events that only the turn which did the work knows of. */
const isOnlyKnownHere: ReadonlySet<HistoryEvent['type']> = new Set([
  'StepCompleted',
  'StepFailed',
  'StepAttemptFailed',
  'RemoteTaskStartFailed',
  'RemoteTaskStartLost',
  'RemoteTaskStartAsked',
  'RemoteAnswerFailed',
  'RemoteAnswerDelivered',
  'RemoteAnswerRefused',
] as const);

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
  return { status: 'cancelled', ...(reason === undefined ? {} : { reason }) };
}

function terminated({ reason }: { readonly reason?: string }): RunOutcome {
  return { status: 'terminated', ...(reason === undefined ? {} : { reason }) };
}

function timedOut({ workflow }: RunHead): RunOutcome {
  return {
    status: 'failed',
    error: storedError('RUN_TIMED_OUT', `the run of "${workflow}" did not end before its deadline`),
  };
}

function workflowMissing(name: string): StoredError {
  return storedError(
    'WORKFLOW_NOT_FOUND',
    `no workflow is named "${name}" in this deployment; after a deploy that has it the run goes on by itself`,
  );
}
