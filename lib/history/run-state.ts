import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { HistoryEvent, RunOutcome } from './event.js';
import type { MayTimeOut, Open, OpenRemoteTask, OpenTokenWait, OpenWait } from './open-wait.js';
import { toCaller } from './question.js';
import { questionIdOf } from './remote-question.js';
import { messageSignal } from './task-content.js';

export type * from './open-wait.js';

/**
 * State of a run from its log, without running the workflow. Folded event by event, so that a turn processes each once.
 */
export class RunState {
  /** Number of the last commit; 0 before the first. */
  seq = 0;
  eventCount = 0;
  lastEventAtMs: EpochMs | undefined;
  readonly open = new Map<WaitId, OpenWait>();
  /** The waits of `open` that end with a settlement. */
  readonly openTokens = new Map<WaitId, OpenTokenWait>();
  /** Waits whose settlement is in the log. */
  readonly settled = new Set<WaitId>();
  /** Inbox items that are in the log. */
  readonly takenInbox = new Set<string>();
  /** Received signals that were delivered to no wait, oldest first. */
  readonly unreadSignals = new Map<string, { readonly name: string; readonly atMs: EpochMs }>();
  readonly patches = new Set<string>();
  progress: JsonValue | undefined;
  startedAtMs: EpochMs | undefined;
  /** Last change, but for the start, of what the caller of a served run is told. */
  statusAtMs: EpochMs | undefined;
  pausedUntilMs: EpochMs | undefined;
  cancelRequested = false;
  ending: RunOutcome | undefined;
  /** Received cancels that reached no wait of the workflow, once the outcome is fixed. */
  unheard: readonly string[] = [];
  ended = false;

  /** Applies the next commit. @throws EngineError `HISTORY_FORMAT_UNKNOWN` if commits before it are missing */
  applyCommit(seq: number, events: readonly HistoryEvent[]): void {
    if (seq !== this.seq + 1)
      throw new EngineError(
        'HISTORY_FORMAT_UNKNOWN',
        `commit ${this.seq + 1} of the history is missing, commit ${seq} is there`,
      );
    this.seq = seq;
    for (const event of events) this.#apply(event);
  }

  #apply(event: HistoryEvent): void {
    this.eventCount++;
    this.lastEventAtMs = event.atMs;
    switch (event.type) {
      case 'RunStarted':
        this.startedAtMs = event.atMs;
        break;
      case 'StepRequested':
        if (event.long === true) this.#set({ kind: 'longStep', ...openOf(event, event.name), ...deadlineOf(event) });
        else this.#set({ kind: 'step', ...openOf(event, event.name), failedAttempts: 0, begun: 0, interrupted: 0 });
        break;
      case 'TimerStarted':
        this.#set({ kind: 'timer', ...openOf(event, 'sleep'), firesAtMs: event.firesAtMs });
        break;
      case 'SignalWaitStarted':
        this.#set({ kind: 'signal', ...openOf(event, event.name), ...deadlineOf(event) });
        break;
      case 'RemoteTaskRequested': {
        const { server, deadlineAtMs } = event;
        this.#set({
          kind: 'remoteTask',
          ...openOf(event, event.name),
          server,
          deadlineAtMs,
          failedAttempts: 0,
          watch: event.watch === true,
          rounds: 0,
          asked: new Map(),
          answers: new Map(),
        });
        break;
      }
      case 'RemoteAnswerRequested': {
        const { callId, questionId, answer } = event;
        this.#set({ kind: 'remoteAnswer', ...openOf(event, 'answer'), callId, questionId, answer, failedAttempts: 0 });
        this.#change(callId, 'remoteTask', (wait) => ({
          ...wait,
          answers: new Map(wait.answers).set(questionId, answer),
        }));
        break;
      }
      case 'ExternalWaitRequested':
        this.#set({
          kind: 'external',
          ...openOf(event, event.name),
          issued: false,
          ...defined({ form: event.form }),
          ...deadlineOf(event),
        });
        break;
      case 'ChildRequested': {
        const { childRunId, parentClose } = event;
        this.#set({
          kind: 'child',
          ...openOf(event, event.workflow),
          childRunId,
          parentClose,
          started: false,
          ...deadlineOf(event),
        });
        break;
      }
      case 'StepStarted':
        this.#change(event.waitId, 'step', (wait) => ({
          ...wait,
          begun: wait.begun + 1,
          interrupted: wait.interrupted + (event.unharmed === true ? 0 : 1),
        }));
        break;
      case 'StepAttemptFailed':
        this.#change(event.waitId, 'step', (wait) => ({
          ...wait,
          begun: 0,
          interrupted: 0,
          failedAttempts: event.attempt,
          retryAtMs: event.retryAtMs,
          lastError: event.error,
          ...defined({ progress: event.progress }),
        }));
        break;
      case 'RemoteTaskStarted':
        this.#change(event.waitId, 'remoteTask', (wait) => ({ ...wait, handle: event.handle }));
        break;
      case 'RemoteTaskStartFailed':
        this.#change(event.waitId, 'remoteTask', (wait) => ({
          ...wait,
          look: undefined,
          failedAttempts: event.attempt,
          retryAtMs: event.retryAtMs,
          lastError: event.error,
          ...defined({ mayRun: event.sent }),
          // True if no attempt was made.
          isHeld: event.attempt === wait.failedAttempts,
        }));
        break;
      case 'RemoteTaskStartLost':
        this.#change(event.waitId, 'remoteTask', (wait) => ({
          ...wait,
          look: event.look,
          retryAtMs: event.lookAtMs,
          lastError: event.error,
        }));
        break;
      case 'RemoteTaskStartAsked':
        this.#change(event.waitId, 'remoteTask', ({ retryAtMs, ...wait }) => ({
          ...wait,
          look: undefined,
          failedAttempts: event.attempt,
          rounds: event.round,
        }));
        break;
      case 'RemoteTaskProgressed':
        this.#change(event.waitId, 'remoteTask', (wait) => ({
          ...wait,
          progressed: event.number,
          ...defined({ publishedAtMs: isPublishable(wait, event.atMs) ? event.atMs : wait.publishedAtMs }),
        }));
        break;
      case 'RemoteQuestionAsked':
        this.#change(event.waitId, 'remoteTask', (wait) => ({
          ...wait,
          asked: new Map(wait.asked).set(questionIdOf(event), event),
        }));
        break;
      case 'RemoteAnswerFailed':
        this.#change(event.waitId, 'remoteAnswer', (wait) => ({
          ...wait,
          failedAttempts: event.attempt,
          retryAtMs: event.retryAtMs,
          lastError: event.error,
        }));
        break;
      case 'ExternalWaitIssued':
        this.#change(event.waitId, 'external', (wait) => ({ ...wait, issued: true }));
        this.#noteQuestion(event);
        break;
      case 'ChildStarted':
        this.#change(event.waitId, 'child', (wait) => ({ ...wait, started: true }));
        break;
      case 'StepCompleted':
      case 'StepFailed':
      case 'TimerFired':
      case 'RemoteAnswerDelivered':
      case 'RemoteAnswerRefused':
      case 'SignalWaitTimedOut':
        this.open.delete(event.waitId);
        break;
      case 'TokenSettled':
        this.#noteQuestion(event);
        this.open.delete(event.waitId);
        this.openTokens.delete(event.waitId);
        this.settled.add(event.waitId);
        break;
      case 'SignalReceived':
        this.takenInbox.add(event.inboxId);
        this.unreadSignals.set(event.inboxId, { name: event.name, atMs: event.atMs });
        break;
      case 'MessageReceived':
        this.takenInbox.add(event.inboxId);
        if (event.answers !== undefined) break;
        this.unreadSignals.set(event.inboxId, { name: messageSignal, atMs: event.atMs });
        if (event.carried !== true) this.#noteStatus(event);
        break;
      case 'SignalDelivered':
        this.open.delete(event.waitId);
        this.unreadSignals.delete(event.inboxId);
        break;
      case 'WaitsClosed':
        // A wait with a token stays open until its settlement.
        for (const waitId of event.waitIds) if (!this.openTokens.has(waitId)) this.open.delete(waitId);
        break;
      case 'CancelRequested':
        this.takenInbox.add(event.inboxId);
        this.cancelRequested = true;
        this.#noteStatus(event);
        break;
      case 'TerminateRequested':
        this.takenInbox.add(event.inboxId);
        break;
      case 'RunPaused':
        this.takenInbox.add(event.inboxId);
        this.pausedUntilMs = event.untilMs;
        break;
      case 'RunResumed':
        if (event.inboxId !== undefined) this.takenInbox.add(event.inboxId);
        this.pausedUntilMs = undefined;
        break;
      case 'RetryNowRequested':
        this.takenInbox.add(event.inboxId);
        this.#retryAllAt(event.atMs);
        break;
      case 'PatchRecorded':
        this.patches.add(event.patchId);
        break;
      case 'ProgressReported':
        this.progress = event.progress;
        this.#noteStatus(event);
        break;
      case 'ArtifactUpdated':
        break;
      case 'RunEnding':
        this.ending = event.outcome;
        this.unheard = event.unheard ?? [];
        break;
      case 'RunEnded':
        this.ended = true;
        break;
    }
  }

  #noteStatus({ atMs }: HistoryEvent): void {
    this.statusAtMs = Math.max(atMs, this.statusAtMs ?? atMs);
  }

  /** Notes that a question to the caller is open, or is open no longer. */
  #noteQuestion(event: Extract<HistoryEvent, { type: 'ExternalWaitIssued' | 'TokenSettled' }>): void {
    const wait = this.open.get(event.waitId);
    if (wait?.kind === 'external' && wait.issued && wait.form?.to === toCaller) this.#noteStatus(event);
  }

  #set(wait: OpenWait): void {
    this.open.set(wait.waitId, wait);
    if (endsBySettlement(wait)) this.openTokens.set(wait.waitId, wait);
  }

  #change<Kind extends OpenWait['kind']>(
    waitId: WaitId,
    kind: Kind,
    change: (wait: Extract<OpenWait, { kind: Kind }>) => OpenWait,
  ): void {
    const wait = this.open.get(waitId);
    if (wait?.kind === kind) this.#set(change(wait as Extract<OpenWait, { kind: Kind }>));
  }

  #retryAllAt(atMs: EpochMs): void {
    for (const wait of this.open.values()) {
      if (
        (wait.kind === 'step' || wait.kind === 'remoteTask' || wait.kind === 'remoteAnswer') &&
        wait.retryAtMs !== undefined
      )
        this.#set({ ...wait, retryAtMs: atMs });
      else if (wait.kind === 'longStep') this.#set({ ...wait, retryNowAtMs: atMs });
    }
  }
}

/** Whether a change of a remote task is published: at most one a minute, by the times of the log. */
export function isPublishable({ publishedAtMs }: Pick<OpenRemoteTask, 'publishedAtMs'>, atMs: EpochMs): boolean {
  return publishedAtMs === undefined || atMs - publishedAtMs >= 60_000;
}

function openOf(event: { readonly waitId: WaitId; readonly atMs: EpochMs }, name: string): Open {
  return { waitId: event.waitId, name, requestedAtMs: event.atMs };
}

function deadlineOf({ deadlineAtMs }: MayTimeOut): MayTimeOut {
  return deadlineAtMs === undefined ? {} : { deadlineAtMs };
}

function endsBySettlement(wait: OpenWait): wait is OpenTokenWait {
  return wait.kind === 'remoteTask' || wait.kind === 'longStep' || wait.kind === 'external' || wait.kind === 'child';
}

export function foldHistory(
  commits: readonly { readonly seq: number; readonly events: readonly HistoryEvent[] }[],
): RunState {
  const state = new RunState();
  for (const commit of commits) state.applyCommit(commit.seq, commit.events);
  return state;
}
