import type { StoredError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import type { HistoryEvent, RemoteTaskHandle, RunOutcome } from './event.js';

interface Retried {
  /** Attempts that failed so far. */
  readonly failedAttempts: number;
  readonly retryAtMs?: EpochMs;
  readonly lastError?: StoredError;
}

/** A wait that the log asked for and that has no end in the log. */
export type OpenWait =
  | ({
      readonly kind: 'step';
      readonly waitId: WaitId;
      readonly name: string;
      readonly requestedAtMs: EpochMs;
    } & Retried)
  | { readonly kind: 'timer'; readonly waitId: WaitId; readonly requestedAtMs: EpochMs; readonly firesAtMs: EpochMs }
  | ({
      readonly kind: 'remoteTask';
      readonly waitId: WaitId;
      readonly server: string;
      readonly name: string;
      readonly requestedAtMs: EpochMs;
      readonly deadlineAtMs: EpochMs;
      readonly handle?: RemoteTaskHandle;
    } & Retried);
export type OpenRemoteTask = Extract<OpenWait, { kind: 'remoteTask' }>;

/** What the log says, without running the workflow. Folded event by event, so that a turn pays for each event once. */
export class RunState {
  /** Number of the last commit; 0 before the first. */
  seq = 0;
  startedAtMs: EpochMs | undefined;
  lastEventAtMs: EpochMs | undefined;
  readonly open = new Map<WaitId, OpenWait>();
  /** Remote waits that the log asked for and did not take a settlement of. */
  readonly openRemoteTasks = new Map<WaitId, OpenRemoteTask>();
  /** Waits whose settlement has been taken in. */
  readonly settled = new Set<WaitId>();
  /** Inbox items that have been taken in. */
  readonly takenInbox = new Set<string>();
  ending: RunOutcome | undefined;
  ended = false;

  applyCommit(seq: number, events: readonly HistoryEvent[]): void {
    this.seq = seq;
    for (const event of events) this.#apply(event);
  }

  #apply(event: HistoryEvent): void {
    this.lastEventAtMs = event.atMs;
    switch (event.type) {
      case 'RunStarted':
        this.startedAtMs = event.atMs;
        break;
      case 'StepRequested':
        this.open.set(event.waitId, {
          kind: 'step',
          waitId: event.waitId,
          name: event.name,
          requestedAtMs: event.atMs,
          failedAttempts: 0,
        });
        break;
      case 'TimerStarted':
        this.open.set(event.waitId, {
          kind: 'timer',
          waitId: event.waitId,
          requestedAtMs: event.atMs,
          firesAtMs: event.firesAtMs,
        });
        break;
      case 'RemoteTaskRequested':
        this.#setRemote({
          kind: 'remoteTask',
          waitId: event.waitId,
          server: event.server,
          name: event.name,
          requestedAtMs: event.atMs,
          deadlineAtMs: event.deadlineAtMs,
          failedAttempts: 0,
        });
        break;
      case 'RemoteTaskStarted': {
        const wait = this.openRemoteTasks.get(event.waitId);
        if (wait !== undefined) this.#setRemote({ ...wait, handle: event.handle });
        break;
      }
      case 'RemoteTaskStartFailed': {
        const wait = this.openRemoteTasks.get(event.waitId);
        if (wait !== undefined)
          this.#setRemote({
            ...wait,
            failedAttempts: event.attempt,
            retryAtMs: event.retryAtMs,
            lastError: event.error,
          });
        break;
      }
      case 'StepAttemptFailed': {
        const wait = this.open.get(event.waitId);
        if (wait?.kind === 'step') {
          this.open.set(event.waitId, {
            ...wait,
            failedAttempts: event.attempt,
            retryAtMs: event.retryAtMs,
            lastError: event.error,
          });
        }
        break;
      }
      case 'StepCompleted':
      case 'StepFailed':
      case 'TimerFired':
        this.open.delete(event.waitId);
        break;
      case 'TokenSettled':
        this.open.delete(event.waitId);
        this.openRemoteTasks.delete(event.waitId);
        this.settled.add(event.waitId);
        break;
      case 'CancelRequested':
      case 'TerminateRequested':
        this.takenInbox.add(event.inboxId);
        break;
      case 'RunEnding':
        this.ending = event.outcome;
        break;
      case 'RunEnded':
        this.ended = true;
        break;
    }
  }

  #setRemote(wait: OpenRemoteTask): void {
    this.open.set(wait.waitId, wait);
    this.openRemoteTasks.set(wait.waitId, wait);
  }
}

export function foldHistory(
  commits: readonly { readonly seq: number; readonly events: readonly HistoryEvent[] }[],
): RunState {
  const state = new RunState();
  for (const commit of commits) state.applyCommit(commit.seq, commit.events);
  return state;
}
