import type { StoredError } from '../../base/errors.js';
import { turnReserveMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { fittingCount, hasNews, newHandles, pausedUntilMs, pauseNews, newEvents } from '../../decide/new-events.js';
import { runTimedOut } from '../../decide/outcome.js';
import { needsStop } from '../../decide/stop.js';
import type { HistoryEvent, RunOutcome } from '../../history/event.js';
import { type Execution, replayBehaviors } from '../../replay/execution.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import { openExecution } from '../open-execution.js';
import { isStoreFailure } from '../persist.js';
import type { LastCommit } from '../rehearse.js';
import { toRequestEvent } from '../../replay/kinds/kinds.js';
import { beginAll } from './begin.js';
import { commit, commitEnd } from './commit.js';
import { isOnlyKnownHere } from './effects.js';
import { parentGone } from './release-markers.js';
import { loadRareParts } from './load-rare-parts.js';
import { cancelled, isCancel, isTerminate, terminated, workflowMissing } from './outcomes.js';
import type { PassContext } from './pass-context.js';
import { asTold } from './tell-caller.js';
import { keepWarm, restBehind, restForStart, restPaused, restQuietly, yieldTurn } from './rest.js';

/** Most requests recorded in one commit; more go into the next. */
const requestsPerCommit = 300;
/** Interval at which a turn in flight checks for a cancel. */
const inboxCheckMs = 2_000;

/**
 * A pass over a run whose outcome is open: take in, apply, commit, begin, until the run is quiet.
 *
 * T1  Nothing happens outside before the command that requests it is in the log.
 * T2  What a pass takes in, and in which order, is free until the commit and fixed after it.
 * T3  A lost commit ends the pass, and nothing that it knew is used again. What it has in hand and no item holds (steps
 *     under way and results) is taken in by the next pass if the log then waits for it, at that attempt.
 * T4  Markers are moved last, when the run is quiet: until then whatever led here stays.
 * T5  A pass does not end before its remote starts have: their handles are stored, or their tasks can be found again or
 *     are cancelled.
 * T6  A write that the store refuses is retried as long as there is time. What is under way then ends, and another turn
 *     is told which starts of steps no process died of: only a start without an end whose process died is a strike.
 */
export class Pass {
  readonly #pass: PassContext;
  /** Whether the last new events filled a commit and more are left. */
  #isCut = false;
  #lastInboxReadMs: EpochMs;
  /** When due instants were last checked: what was due before then can only be acted on after the end of an effect. */
  #lookedAtMs: EpochMs;

  constructor(pass: PassContext) {
    this.#pass = pass;
    this.#lastInboxReadMs = pass.nowMs();
    this.#lookedAtMs = this.#lastInboxReadMs;
    pass.effects.goOnFrom(pass.run.state);
  }

  /** Runs the pass. Returns false if a commit was lost: the run must be read again. */
  async run(workflow: AnyWorkflow | undefined): Promise<boolean> {
    const { run } = this.#pass;
    const { head } = run;
    const lookAtMs = run.isNew && head.afterRunId !== undefined ? await this.#nextLookAtMs() : undefined;
    if (lookAtMs !== undefined) return done(restBehind(this.#pass, lookAtMs));
    if (run.isNew && head.lane?.afterRunId !== undefined) {
      const waited = await (await loadRareParts()).waitInLane(this.#pass, head.lane);
      if (waited !== undefined) return waited;
    }

    const nowMs = this.#pass.nowMs();
    // Neither needs the workflow's code, so a run that is blocked or paused is also ended here.
    const terminate = run.requests.find(isTerminate);
    if (terminate !== undefined) return commitEnd(this.#pass, this.#newEvents(), terminated(terminate));
    if (run.isOverdue(nowMs)) return commitEnd(this.#pass, this.#newEvents(), runTimedOut(head.workflow));

    // No code has run or will: like a cancel before a delayed start, this has no `RunStarted`.
    if (run.isNew && head.inputError !== undefined)
      return commitEnd(this.#pass, newEvents(run, [], nowMs).events, { status: 'failed', error: head.inputError });
    const stop = run.isNew ? await this.#stopOfParent() : undefined;
    if (stop !== undefined) return commitEnd(this.#pass, this.#newEvents(), stop);
    if (run.isNew && head.startAtMs !== undefined && nowMs < head.startAtMs) return this.#waitForStart(head.startAtMs);
    if (run.isNew && head.debounce !== undefined && !(await this.#closeDebounce())) return false;
    if (pausedUntilMs(run, nowMs) !== undefined) return this.#pause();
    if (workflow === undefined) return this.#park(workflowMissing(head.workflow));

    const execution = run.warm ?? (await this.#replayed(workflow));
    run.execution = execution;
    try {
      return await this.#goOn(workflow, execution);
    } finally {
      await this.#pass.effects.allEnd('outside');
    }
  }

  async #closeDebounce(): Promise<boolean> {
    const { closeDebounce } = await loadRareParts();
    return closeDebounce(this.#pass);
  }

  async #nextLookAtMs(): Promise<EpochMs | undefined> {
    const { nextLookAtMs } = await loadRareParts();
    return nextLookAtMs(this.#pass.deps, this.#pass.run.head);
  }

  async #park(error: StoredError, taken: readonly HistoryEvent[] = []): Promise<boolean> {
    const { park } = await loadRareParts();
    return park(this.#pass, error, taken);
  }

  /** Rests until the start. A cancel ends the run at once, without a `RunStarted`, since no code needs to clean up. */
  async #waitForStart(startAtMs: EpochMs): Promise<boolean> {
    const { run } = this.#pass;
    const cancel = run.requests.find(isCancel);
    if (cancel === undefined) return done(restForStart(this.#pass, startAtMs));
    return commitEnd(this.#pass, newEvents(run, [], this.#pass.nowMs()).events, cancelled(cancel));
  }

  async #replayed(workflow: AnyWorkflow): Promise<Execution> {
    const { deps, run } = this.#pass;
    const execution = openExecution(deps, workflow, run);
    for (const { events } of run.commits) for (const event of events) await execution.apply(event);
    execution.goLive();
    return execution;
  }

  /**
   * Returns an outcome if the parent has closed its wait: before the head of the child existed, it could not stop it.
   * The wait is closed first and the child stopped afterwards, so this turn sees the former or a later turn the latter.
   */
  async #stopOfParent(): Promise<RunOutcome | undefined> {
    const { deps, run } = this.#pass;
    const { parent } = run.head;
    const wait = parent === undefined ? undefined : await deps.store.tokens.read(parent.runId, parent.waitId);
    if (wait?.child === undefined || wait.child.parentClose === 'abandon' || !needsStop(wait)) return undefined;
    // Terminated whatever the policy: none of its code has run, so there is nothing to clean up.
    return { status: 'terminated', reason: parentGone };
  }

  async #rehearsed(last?: LastCommit): Promise<StoredError | undefined> {
    const { deps, run } = this.#pass;
    return deps.rehearse?.(deps, run.head.runId, last);
  }

  async #goOn(workflow: AnyWorkflow, execution: Execution): Promise<boolean> {
    const { run, effects } = this.#pass;
    for (;;) {
      this.#lookedAtMs = this.#pass.nowMs();
      if (pausedUntilMs(run, this.#pass.nowMs()) !== undefined) return this.#pause();
      const events = this.#newEvents();
      const terminate = events.find((event) => event.type === 'TerminateRequested');
      if (terminate !== undefined) return commitEnd(this.#pass, events, terminated(terminate));
      if (this.#isOverdue()) return commitEnd(this.#pass, events, runTimedOut(run.head.workflow));
      for (const event of events) await execution.apply(event);
      if (execution.status.kind === 'blocked') return this.#park(execution.status.error, events);
      if (execution.status.kind === 'ended' && this.#isCut) {
        // All that was accepted must be in the log before the run can end, in as many commits as that takes.
        if (!(await commit(this.#pass, events))) return false;
        if (this.#isShortOfTime()) return done(yieldTurn(this.#pass));
        continue;
      }
      if (execution.status.kind === 'ended') {
        // The workflow's last requests are not recorded, but the signals that it read last count as read.
        const { outcome: given } = execution.status;
        const { events: last, outcome = given } = await asTold(this.#pass, {
          events: execution.takeDerived(Infinity),
          outcome: given,
        });
        const differs = await this.#rehearsed({ events: [...events, ...last], outcome: given });
        if (differs !== undefined) return this.#park(differs, events);
        return commitEnd(this.#pass, [...events, ...last], outcome);
      }
      const committed = await this.#commitWithRequests(events, execution);
      if (committed === 'lost') return false;
      if (committed === 'ended') return true;
      if (committed === 'no time') return done(yieldTurn(this.#pass));
      if (committed === 'more') continue;

      const { effectError } = this.#pass;
      const hasTime = effectError !== undefined || beginAll(this.#pass, execution);
      if (effects.results.length > 0) continue;
      if (effects.underWay > 0) await this.#someEffect();
      else if (effectError !== undefined) throw effectError;
      else if (!hasTime || !hasNews(run, this.#pass.nowMs())) {
        const differs = await this.#rehearsed();
        if (differs !== undefined) return this.#park(differs);
        await (hasTime ? restQuietly(this.#pass) : yieldTurn(this.#pass));
        keepWarm(this.#pass, workflow, execution);
        return true;
      }
    }
  }

  /**
   * Commits what was taken in and what the workflow then requests. `more`: something must be taken in first. `ended`: what
   * it says was withheld from its caller.
   */
  async #commitWithRequests(
    events: readonly HistoryEvent[],
    execution: Execution,
  ): Promise<'lost' | 'ended' | 'no time' | 'more' | 'all'> {
    const { run, effects } = this.#pass;
    const asked = execution
      .newCommands(requestsPerCommit)
      .map((command) => toRequestEvent(command, this.#pass.nowMs()));
    const requested = asked.slice(0, fittingCount(asked));
    const derived = execution.takeDerived(Number(requested.at(-1)?.waitId ?? execution.lastRecordedWait));
    const { events: told, outcome } = await asTold(this.#pass, { events: [...requested, ...derived] });
    if (outcome !== undefined) return (await commitEnd(this.#pass, events, outcome)) ? 'ended' : 'lost';
    const all = [...events, ...told];
    if (all.length === 0) return 'all';
    if (!(await commit(this.#pass, all))) return 'lost';
    for (const event of told) await execution.apply(event);
    effects.abandonSteps((waitId) => execution.command(waitId) !== undefined);
    const mayBeMore = asked.length === requestsPerCommit || requested.length < asked.length;
    if (this.#isCut && this.#isShortOfTime()) return 'no time';
    if (mayBeMore || this.#isCut || effects.results.length > 0 || this.#isOverdue()) return 'more';
    // A request may be due at once, and did not exist at the last look.
    return requested.length > 0 && hasNews(run, this.#pass.nowMs()) ? 'more' : 'all';
  }

  #isOverdue(): boolean {
    return this.#pass.run.isOverdue(this.#pass.nowMs());
  }

  #isShortOfTime(): boolean {
    return this.#pass.effects.underWay === 0 && this.#pass.limits.remainingMs() < turnReserveMs;
  }

  // ----- taking in -----

  #newEvents(): readonly HistoryEvent[] {
    const { run, effects } = this.#pass;
    const nowMs = this.#pass.nowMs();
    const results = effects.results.splice(0, fittingCount(effects.results));
    const { events: news, isCut } = newEvents(run, results, nowMs);
    this.#isCut = isCut;
    const events = this.#firstEvents(nowMs);
    const { pausedUntilMs: untilMs } = run.state;
    // Only after the pause: a run that ends while it is paused was not resumed.
    if (untilMs !== undefined && untilMs <= nowMs && !news.some((event) => event.type === 'RunResumed')) {
      events.push({ type: 'RunResumed', atMs: untilMs });
    }
    return news.length === 0 && !this.#tellsStarts() && run.execution?.isLeaving !== true
      ? events
      : [...events, ...newHandles(run), ...news];
  }

  /**
   * Returns true if starts are published, so a handle is committed at once. Otherwise it waits for another commit; a
   * turn's handles share one.
   */
  #tellsStarts(): boolean {
    return this.#pass.outbox !== undefined && this.#pass.effects.underWay === 0;
  }

  #firstEvents(atMs: EpochMs): HistoryEvent[] {
    const { run } = this.#pass;
    const { workflow, version } = run.head;
    return run.isNew ? [{ type: 'RunStarted', atMs, workflow, version, behaviors: replayBehaviors }] : [];
  }

  // ----- waiting -----

  /** Waits until an effect ends, a timer is due, or it is time to look for a cancel. */
  async #someEffect(): Promise<void> {
    const { deps, run, effects } = this.#pass;
    // Effects that are nearly done need no timer.
    await deps.drain();
    if (effects.underWay > 0 && effects.results.length === 0) await this.#waitForEffect();
    const nowMs = this.#pass.nowMs();
    if (nowMs - this.#lastInboxReadMs < inboxCheckMs) return;
    this.#lastInboxReadMs = nowMs;
    try {
      run.addToInbox(await deps.store.inbox.readAll(run.head.runId));
    } catch (error) {
      // Retried in a moment; everything new has its own marker.
      if (!isStoreFailure(error)) this.#pass.failWith(error, 'inbox not read');
    }
  }

  async #waitForEffect(): Promise<void> {
    const { deps, run, effects } = this.#pass;
    const nowMs = this.#pass.nowMs();
    // Skips what was due before the last look: it was acted on, or cannot be until an effect ends.
    const instants = run.dueInstants((waitId) => effects.has(waitId)).filter((atMs) => atMs > this.#lookedAtMs);
    const nextDueAtMs = Math.min(...instants, nowMs + inboxCheckMs);
    await effects.someEnd((cut) => deps.delay(Math.max(0, nextDueAtMs - nowMs), cut));
  }

  /**
   * Pauses the run: nothing more is begun, and nothing reaches the workflow. What is under way ends, and its results
   * are committed with the pause; everything else that has come waits. The execution has not seen these events, so it
   * is not used after this pass.
   */
  async #pause(): Promise<boolean> {
    const { run, effects } = this.#pass;
    for (;;) {
      this.#lookedAtMs = this.#pass.nowMs();
      const terminate = run.requests.find(isTerminate);
      if (terminate !== undefined) return commitEnd(this.#pass, this.#newEvents(), terminated(terminate));
      if (this.#isOverdue()) return commitEnd(this.#pass, this.#newEvents(), runTimedOut(run.head.workflow));
      const atMs = this.#pass.nowMs();
      const { results } = effects;
      // A recorded start of a step that is not begun now would look as if its process had died.
      const ended = results.splice(0, fittingCount(results)).filter((event) => isOnlyKnownHere.has(event.type));
      const events = [...ended, ...pauseNews(run, atMs)];
      if (events.length > 0) {
        if (!(await commit(this.#pass, [...this.#firstEvents(atMs), ...events]))) return false;
        // Effects have continued meanwhile, and what the pause held back may be due.
        if (pausedUntilMs(run, atMs) === undefined) return false;
      } else if (effects.underWay > 0) await this.#someEffect();
      else if (results.length === 0) break;
    }
    const untilMs = pausedUntilMs(run, this.#pass.nowMs());
    return untilMs === undefined ? false : done(restPaused(this.#pass, untilMs));
  }
}

/** Awaits the rest and returns true: no commit was lost, and the pass is the last one of its turn. */
async function done(rest: Promise<void>): Promise<true> {
  await rest;
  return true;
}
