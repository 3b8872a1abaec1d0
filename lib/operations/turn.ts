import { storedError, type StoredError } from '../base/errors.js';
import {
  commitTargetBytes,
  delayedMessageMaxMs,
  inboxCheckMs,
  requestsPerCommit,
  stepsInParallel,
  turnReserveMs,
} from '../base/limits.js';
import type { WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import { blockedRetryAtMs, waitDueAtMs } from '../decide/deadline.js';
import type { HistoryEvent, RemoteTaskRequested, RunOutcome, StepRequested, TimerStarted } from '../history/event.js';
import type { OpenRemoteTask, OpenWait, RunState } from '../history/run-state.js';
import type { Command } from '../replay/command.js';
import { Execution, replayBehaviors } from '../replay/execution.js';
import type { InboxRecord, RunHead, RunRecords, TokenRecord } from '../store/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Deps } from './deps.js';
import { afterEnd, finishRun, releaseToken } from './end-run.js';
import type { TurnLimits } from './run-turn.js';
import { runStep } from './run-step.js';
import { startRemoteTask } from './start-remote-task.js';
import { wakeRun, wakeRunAt } from './wake.js';

interface TurnOptions {
  readonly turnId: string;
  /** Writer ids under which this turn has called a remote server, kept over its passes. */
  readonly called: Set<string>;
  readonly limits: TurnLimits;
}

/** Work of a turn that is under way, and the events that it ended with. */
interface Effect {
  readonly kind: 'step' | 'remoteStart';
  readonly done: Promise<void>;
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
  readonly #head: RunHead;
  readonly #records: RunRecords;
  readonly #state: RunState;
  readonly #options: TurnOptions;
  readonly #tokens: Map<WaitId, TokenRecord>;
  readonly #inbox: Map<string, InboxRecord>;
  readonly #effects = new Map<WaitId, Effect>();
  readonly #abandon = new AbortController();
  /** Results of effects that no commit holds yet. */
  #results: HistoryEvent[] = [];
  /** What broke an effect: a store that failed, never an author's step. */
  #effectError: Error | undefined;
  #lastInboxReadMs: EpochMs;
  #execution: Execution | undefined;

  constructor(deps: Deps, records: RunRecords, state: RunState, options: TurnOptions) {
    this.#deps = deps;
    this.#head = records.head;
    this.#records = records;
    this.#state = state;
    this.#options = options;
    this.#tokens = new Map(records.tokens.map((token) => [token.waitId, token]));
    this.#inbox = new Map(records.inbox.map((item) => [item.inboxId, item]));
    this.#lastInboxReadMs = deps.clock.nowMs();
  }

  /** False: a commit was lost, read again. */
  async run(workflow: AnyWorkflow | undefined): Promise<boolean> {
    // A terminate needs no workflow code, so it also ends a run that is blocked.
    const terminate = [...this.#inbox.values()].find(
      (item) => item.kind === 'terminate' && !this.#state.takenInbox.has(item.inboxId),
    );
    if (terminate !== undefined) return this.#end(this.#takeIn(), terminated(terminate));
    if (workflow === undefined) return this.#park(workflowMissing(this.#head.workflow));

    const execution = this.#newExecution(workflow);
    this.#execution = execution;
    for (const commit of this.#records.commits) for (const event of commit.events) await execution.apply(event);
    execution.goLive();
    try {
      return await this.#goOn(execution);
    } finally {
      this.#abandon.abort();
      await this.#remoteStartsDone();
    }
  }

  /** The workflow still waits for it: no cancel has closed it. */
  #isWaitedFor(wait: OpenWait): boolean {
    return this.#execution?.command(wait.waitId) !== undefined;
  }

  #newExecution(workflow: AnyWorkflow): Execution {
    return new Execution({
      workflow,
      runId: this.#head.runId,
      input: this.#head.input,
      seed: this.#head.seed,
      settlementOf: (waitId) => this.#tokens.get(waitId)?.settlement?.outcome,
      drain: this.#deps.drain,
      digest: this.#deps.digest,
      log: this.#deps.log,
    });
  }

  async #goOn(execution: Execution): Promise<boolean> {
    for (;;) {
      const events = this.#takeIn();
      const terminate = events.find((event) => event.type === 'TerminateRequested');
      if (terminate !== undefined) return this.#end(events, terminated(terminate));
      for (const event of events) await execution.apply(event);
      if (execution.status.kind === 'blocked') return this.#park(execution.status.error, events);
      if (execution.status.kind === 'ended') return this.#end(events, execution.status.outcome);

      const requested = execution.newCommands(requestsPerCommit).map((command) => this.#toRequest(command));
      if (events.length > 0 || requested.length > 0) {
        if (!(await this.#commit([...events, ...requested]))) return false;
        for (const request of requested) await execution.apply(request);
        if (requested.length === requestsPerCommit || this.#results.length > 0) continue;
      }

      const hasTime = this.#begin(execution);
      if (this.#effects.size > 0) await this.#someEffect();
      else if (!hasTime) return this.#yield();
      else if (!this.#hasNews()) return this.#quiet();
    }
  }

  // ----- taking in -----

  /**
   * What is not yet in a commit: settlements, handles, inbox items, due timers, results of effects; as much as one commit
   * holds. A terminate goes first; then time, then id, order what one commit takes in.
   */
  #takeIn(): readonly HistoryEvent[] {
    const nowMs = this.#deps.clock.nowMs();
    const results = this.#takeResults();
    const news = [...this.#inboxNews(), ...this.#tokenNews(), ...this.#timerNews(nowMs), ...results];
    if (news.length > 1) news.sort(byOrderOfTaking);
    const events: HistoryEvent[] = [];
    if (this.#state.seq === 0) {
      const { workflow, version } = this.#head;
      events.push({ type: 'RunStarted', atMs: nowMs, workflow, version, behaviors: replayBehaviors });
    }
    // A handle alone is worth no commit: it is on the token item, which is the record of the start.
    if (news.length === 0) return events;
    for (const wait of this.#state.openRemoteTasks.values()) {
      const token = this.#tokens.get(wait.waitId);
      if (token?.handle === undefined || wait.handle !== undefined) continue;
      events.push({
        type: 'RemoteTaskStarted',
        atMs: token.startedAtMs ?? nowMs,
        waitId: wait.waitId,
        handle: token.handle,
      });
    }
    events.push(...news);
    return events;
  }

  #takeResults(): readonly HistoryEvent[] {
    let bytes = 0;
    let count = 0;
    for (const event of this.#results) {
      bytes += sizeOf(event);
      if (count > 0 && bytes > commitTargetBytes) break;
      count++;
    }
    return this.#results.splice(0, count);
  }

  #inboxNews(): HistoryEvent[] {
    return [...this.#inbox.values()]
      .filter((item) => !this.#state.takenInbox.has(item.inboxId))
      .map(({ kind, inboxId, reason, atMs }) => ({
        type: kind === 'cancel' ? 'CancelRequested' : 'TerminateRequested',
        atMs,
        inboxId,
        ...(reason === undefined ? {} : { reason }),
      }));
  }

  /** Only of waits that the commits read ask for: a newer commit's token may have been read before its commit. */
  #tokenNews(): HistoryEvent[] {
    const news: HistoryEvent[] = [];
    for (const waitId of this.#state.openRemoteTasks.keys()) {
      const settlement = this.#tokens.get(waitId)?.settlement;
      if (settlement !== undefined && settlement.outcome.kind !== 'run_ended')
        news.push({ type: 'TokenSettled', atMs: settlement.atMs, waitId });
    }
    return news;
  }

  #timerNews(nowMs: EpochMs): HistoryEvent[] {
    const news: HistoryEvent[] = [];
    for (const wait of this.#state.open.values()) {
      if (wait.kind === 'timer' && wait.firesAtMs <= nowMs && this.#isWaitedFor(wait))
        news.push({ type: 'TimerFired', atMs: wait.firesAtMs, waitId: wait.waitId });
    }
    return news;
  }

  #hasNews(): boolean {
    return (
      this.#results.length > 0 ||
      this.#inboxNews().length > 0 ||
      this.#tokenNews().length > 0 ||
      this.#timerNews(this.#deps.clock.nowMs()).length > 0
    );
  }

  // ----- committing -----

  async #commit(events: readonly HistoryEvent[]): Promise<boolean> {
    const seq = this.#state.seq + 1;
    const committed = await this.#deps.store.commit(this.#head.runId, {
      seq,
      writerId: this.#deps.random.hex(16),
      events,
    });
    if (committed) this.#state.applyCommit(seq, events);
    return committed;
  }

  #toRequest(command: Command): StepRequested | TimerStarted | RemoteTaskRequested {
    const atMs = this.#deps.clock.nowMs();
    const { waitId } = command;
    switch (command.kind) {
      case 'runStep':
        return { type: 'StepRequested', atMs, waitId, name: command.name };
      case 'startTimer':
        return { type: 'TimerStarted', atMs, waitId, firesAtMs: atMs + command.durationMs };
      case 'startRemoteTask': {
        const { server, name, digest, input, timeoutMs } = command;
        return {
          type: 'RemoteTaskRequested',
          atMs,
          waitId,
          server,
          name,
          digest,
          ...(input === undefined ? {} : { input }),
          deadlineAtMs: atMs + timeoutMs,
        };
      }
    }
  }

  /** The workflow has ended: fixes the outcome, and ends the run in the same transaction when no wait is open. */
  async #end(events: readonly HistoryEvent[], outcome: RunOutcome): Promise<boolean> {
    const { runId } = this.#head;
    // As this turn has seen it: it may have read the inbox again since it read the head.
    const inboxCount = this.#inbox.size;
    const atMs = this.#deps.clock.nowMs();
    const seq = this.#state.seq + 1;
    const writerId = this.#deps.random.hex(16);
    const ending: readonly HistoryEvent[] = [...events, { type: 'RunEnding', atMs, outcome }];
    const hasOpenWaits = [...this.#state.openRemoteTasks.keys()].some(
      (waitId) => this.#tokens.get(waitId)?.settlement === undefined,
    );
    if (hasOpenWaits) {
      if (!(await this.#deps.store.commitEnding(runId, { seq, writerId, events: ending }, inboxCount))) return false;
      await finishRun(this.#deps, runId);
      return true;
    }
    const committed = await this.#deps.store.commitEnd(
      this.#head,
      { seq, writerId, events: [...ending, { type: 'RunEnded', atMs, status: outcome.status }] },
      {
        status: outcome.status,
        endedAtMs: atMs,
        seen: { status: 'running', inboxCount },
        // Another marker that stands brings the run back just as well, and one write less is paid.
        ...(this.#hasStandingMarker() ? {} : { markAtMs: atMs }),
      },
    );
    if (committed) await afterEnd(this.#deps, runId);
    return committed;
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
      if (wait.kind === 'timer' || this.#effects.has(wait.waitId)) continue;
      const command = execution.command(wait.waitId);
      // A cancel closed this wait: nobody would see what came of it.
      if (command === undefined) continue;
      if ((waitDueAtMs(wait) ?? 0) > this.#deps.clock.nowMs()) continue;
      if (wait.kind === 'step' && command.kind === 'runStep') {
        if (this.#runningSteps() >= stepsInParallel) continue;
        if (this.#options.limits.remainingMs() < command.policy.timeoutMs + turnReserveMs) hasTime = false;
        else this.#run(wait, 'step', () => this.#runStep(wait, command));
      } else if (wait.kind === 'remoteTask' && command.kind === 'startRemoteTask' && !this.#isStarted(wait)) {
        if (this.#options.limits.remainingMs() < turnReserveMs) hasTime = false;
        else this.#run(wait, 'remoteStart', () => this.#startRemote(wait, command));
      }
    }
    return hasTime;
  }

  #runningSteps(): number {
    let count = 0;
    for (const effect of this.#effects.values()) if (effect.kind === 'step') count++;
    return count;
  }

  #isStarted(wait: OpenRemoteTask): boolean {
    const token = this.#tokens.get(wait.waitId);
    return wait.handle !== undefined || token?.handle !== undefined || token?.settlement !== undefined;
  }

  #run(wait: OpenWait, kind: Effect['kind'], effect: () => Promise<void>): void {
    const done = effect()
      .catch((error: unknown) => {
        this.#effectError ??= error instanceof Error ? error : new Error('an effect failed', { cause: error });
      })
      .finally(() => {
        this.#effects.delete(wait.waitId);
      });
    this.#effects.set(wait.waitId, { kind, done });
  }

  async #runStep(
    wait: Extract<OpenWait, { kind: 'step' }>,
    command: Extract<Command, { kind: 'runStep' }>,
  ): Promise<void> {
    this.#results.push(
      await runStep(this.#deps, this.#head.runId, command, wait.failedAttempts + 1, this.#abandon.signal),
    );
  }

  async #startRemote(wait: OpenRemoteTask, command: Extract<Command, { kind: 'startRemoteTask' }>): Promise<void> {
    const { turnId, called } = this.#options;
    const { token, failed } = await startRemoteTask(this.#deps, {
      runId: this.#head.runId,
      wait,
      command,
      turnId,
      called,
    });
    this.#tokens.set(wait.waitId, token);
    if (failed !== undefined) this.#results.push(failed);
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
    cut.abort();
  }

  async #remoteStartsDone(): Promise<void> {
    await Promise.all(
      [...this.#effects.values()].filter((effect) => effect.kind === 'remoteStart').map((effect) => effect.done),
    );
  }

  // ----- stopping -----

  /** Too little time for what is left: another turn goes on. Every marker stands. */
  async #yield(): Promise<boolean> {
    await wakeRun(this.#deps, this.#head.runId);
    return true;
  }

  /** Nothing is left to do now: the head's marker, then those of what was taken in. */
  async #quiet(): Promise<boolean> {
    const { runId } = this.#head;
    const dueAtMs = this.#nextDueAtMs();
    if (this.#head.dueAtMs !== dueAtMs || this.#head.blocked !== undefined)
      await this.#deps.store.setHeadMarker(runId, this.#state.seq, dueAtMs);
    if (dueAtMs !== undefined && dueAtMs - this.#deps.clock.nowMs() <= delayedMessageMaxMs)
      await wakeRunAt(this.#deps, runId, dueAtMs);
    await this.#clearMarkers(
      (token) => this.#state.settled.has(token.waitId),
      (item) => this.#state.takenInbox.has(item.inboxId),
    );
    return true;
  }

  #dueInstants(): readonly EpochMs[] {
    const instants: EpochMs[] = [];
    for (const wait of this.#state.open.values()) {
      if (wait.kind === 'remoteTask' && this.#isStarted(wait)) continue;
      if (this.#effects.has(wait.waitId) || !this.#isWaitedFor(wait)) continue;
      const dueAtMs = waitDueAtMs(wait);
      if (dueAtMs !== undefined) instants.push(dueAtMs);
    }
    return instants;
  }

  #nextDueAtMs(): EpochMs | undefined {
    const instants = this.#dueInstants();
    return instants.length === 0 ? undefined : Math.min(...instants);
  }

  /**
   * The run cannot go on with this deployment. Nothing that was read is taken in, so nothing is lost; the head's marker
   * alone brings the run back, ever more seldom. Results of steps are in no item yet: they are committed, or the steps
   * would run again each time.
   */
  async #park(error: StoredError, taken: readonly HistoryEvent[] = []): Promise<boolean> {
    const results = taken.filter((event) => event.type === 'StepCompleted');
    if (results.length > 0 && !(await this.#commit(results))) return false;
    const { runId, blocked } = this.#head;
    const nowMs = this.#deps.clock.nowMs();
    const sinceMs = typeof blocked?.details?.['sinceMs'] === 'number' ? blocked.details['sinceMs'] : nowMs;
    this.#deps.log.error('run blocked', {
      runId,
      workflow: this.#head.workflow,
      code: error.code,
      reason: error.message,
    });
    const parked = await this.#deps.store.setBlocked(
      runId,
      this.#state.seq,
      { ...error, details: { ...error.details, sinceMs } },
      blockedRetryAtMs(sinceMs, nowMs),
    );
    if (parked)
      await this.#clearMarkers(
        (token) => token.settlement !== undefined,
        () => true,
      );
    return true;
  }

  async #clearMarkers(
    tokenIsDone: (token: TokenRecord) => boolean,
    inboxIsDone: (item: InboxRecord) => boolean,
  ): Promise<void> {
    for (const token of this.#tokens.values())
      if (token.dueAtMs !== undefined && tokenIsDone(token)) await releaseToken(this.#deps, token);
    for (const item of this.#inbox.values()) {
      if (item.dueAtMs !== undefined && inboxIsDone(item))
        await this.#deps.store.clearInboxMarker(this.#head.runId, item.inboxId);
    }
  }
}

function terminated({ reason }: { readonly reason?: string }): RunOutcome {
  return { status: 'terminated', ...(reason === undefined ? {} : { reason }) };
}

function workflowMissing(name: string): StoredError {
  return storedError(
    'WORKFLOW_NOT_FOUND',
    `no workflow is named "${name}" in this deployment; after a deploy that has it the run goes on by itself`,
  );
}

function byOrderOfTaking(a: HistoryEvent, b: HistoryEvent): number {
  const first = Number(b.type === 'TerminateRequested') - Number(a.type === 'TerminateRequested');
  return first || a.atMs - b.atMs || compare(idOf(a), idOf(b));
}

function idOf(event: HistoryEvent): string {
  if ('waitId' in event) return event.waitId.padStart(9, '0');
  return 'inboxId' in event ? event.inboxId : '';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function sizeOf(event: HistoryEvent): number {
  const result = event.type === 'StepCompleted' && event.result !== undefined ? JSON.stringify(event.result).length : 0;
  return 300 + result;
}
