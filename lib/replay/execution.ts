import { readable, type StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import { toJson, type JsonValue } from '../base/json.js';
import type { HistoryEvent, RunOutcome, RunStarted, SignalReceived } from '../history/event.js';
import type { TokenOutcome } from '../history/settlement.js';
import { messageSignal } from '../history/task-content.js';
import {
  closingMismatch,
  deliveryMismatch,
  mismatchOf,
  rulesUnknown,
  settlementMissing,
  signalMissing,
  stuck,
} from './blocked.js';
import { Cancels } from './cancels.js';
import type { Command } from './command.js';
import { createContext } from './create-context.js';
import type { ContextHost } from './context/host.js';
import { Derived, type DerivedEvent } from './derived.js';
import { DroppedWork } from './dropped-work.js';
import { Ending } from './ending.js';
import type { Dropped, Given } from './kinds/kind.js';
import { givenBy, isEnd, isRequest, kindOf, type EndEvent, type RequestEvent } from './kinds/kinds.js';
import type { Position } from './position.js';
import { Queries } from './queries.js';
import type { RunFacts } from './run-facts.js';
import { runInfo, type CallKeys } from './run-info.js';
import { seededRandom } from './seeded.js';
import { Signals } from './waits/signals.js';
import { WaitNews } from './waits/wait-news.js';
import { Waits } from './waits/waits.js';

/**
 * Version of the replay rules for new histories; a history keeps the version that it began with. 1: the run ends with
 * the workflow's function, and everything else in it is dropped. 2: the run ends after the shielded parts and sagas of
 * what it closed, and the log records closed waits.
 */
export const replayBehaviors = 2;

export interface ExecutionOptions extends RunFacts {
  readonly input: JsonValue | undefined;
  /** Returns the settlement that a `TokenSettled` event refers to. */
  readonly settlementOf: (waitId: WaitId) => TokenOutcome | undefined;
  /** Returns the signal of a `SignalReceived` event; undefined if it is missing. Default: signals without payloads. */
  readonly signalOf?: (inboxId: string) => { readonly payload?: JsonValue } | undefined;
  /** Returns the text of a token under the key that the history names. */
  readonly tokenOf?: (waitId: WaitId, keyId: string) => string;
  /** Patches recorded anywhere in the history. Default: none. */
  readonly patches?: ReadonlySet<string>;
  /**
   * Resolves when the microtask queue is empty: all that replay needs of the event loop. `quietly`: ignores unhandled
   * rejections meanwhile, since a closed workflow may leave promises that nothing awaits.
   */
  readonly drain: (options?: { readonly quietly?: boolean }) => Promise<void>;
  /** Calls `advance`, within which alone the code of the workflow runs. Default: nothing watches it. */
  readonly watch?: ((runId: RunId, advance: () => Promise<void>) => Promise<void>) | undefined;
}

export type ExecutionStatus =
  /** At least one wait is open. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'ended'; readonly outcome: RunOutcome }
  /** The code does not fit the history, or awaits a promise that is not from ctx. */
  | { readonly kind: 'blocked'; readonly error: StoredError };

/**
 * Runs an author's function against a history. No IO: history in, commands and status out.
 *
 * X1  Events are applied one at a time, and the microtask queue is emptied in between, so promises settle exactly in
 *     the order of the events.
 * X2  The workflow's code runs only inside `apply`. Calling a context method at another time is reported as misuse.
 * X3  Recorded commands are compared, in order, with what the code requests now. The first difference blocks the
 *     execution; nothing is applied after it.
 * X4  After the workflow has ended, events change nothing.
 *
 * X5, in `ending.ts`, says when it has ended.
 */
export class Execution {
  readonly #options: ExecutionOptions;
  readonly #position: Position = { isLive: false, isAdvancing: false, nowMs: 0, eventCount: 0 };
  readonly #waits = new Waits((command) => {
    // Otherwise what is kept for closed waits would grow with the history.
    this.#news.forget(command.waitId);
    if (command.kind === 'waitForSignal') this.#signals.forget(command.name, command.waitId);
  });
  readonly #signals = new Signals(this.#waits);
  readonly #news = new WaitNews(this.#waits);
  readonly #queries = new Queries();
  readonly #cancels = new Cancels(this.#waits);
  readonly #derived: Derived;
  readonly #dropped: DroppedWork;
  readonly #ending: Ending;
  readonly #host: ContextHost;
  #blocked: StoredError | undefined;
  /** Whether `RunStarted` was applied: a run cancelled before a delayed start never begins. */
  #hasBegun = false;

  constructor(options: ExecutionOptions) {
    this.#options = options;
    const parts = {
      facts: options,
      position: this.#position,
      waits: this.#waits,
      signals: this.#signals,
      cancels: this.#cancels,
    };
    this.#derived = new Derived({ ...parts, patches: options.patches ?? new Set() });
    this.#dropped = new DroppedWork(parts);
    this.#ending = new Ending({ ...parts, dropped: this.#dropped });
    const callKeys: CallKeys = new WeakMap();
    this.#host = {
      ...options,
      ...parts,
      news: this.#news,
      queries: this.#queries,
      derived: this.#derived,
      dropped: this.#dropped,
      ending: this.#ending,
      random: seededRandom(options.seed, options.digest),
      info: runInfo(options, callKeys),
      callKeys,
      contextOf: (scope) => createContext(this.#host, scope),
      misused: (error) => {
        this.#blocked = error;
      },
    };
  }

  get status(): ExecutionStatus {
    if (this.#blocked !== undefined) return { kind: 'blocked', error: this.#blocked };
    const { outcome } = this.#ending;
    return outcome === undefined ? { kind: 'waiting' } : { kind: 'ended', outcome };
  }

  /** Marks later events as new ones, which enables the workflow's log. */
  goLive(): void {
    this.#position.isLive = true;
  }

  /** Returns commands of the workflow that no applied event records, oldest first, at most `limit`. */
  newCommands(limit: number): readonly Command[] {
    return this.#waits.requests.unrecorded(limit);
  }

  /** Removes and returns uncommitted events that result from the applied ones, for waits up to `lastWaitId`. */
  takeDerived(lastWaitId: number): readonly DerivedEvent[] {
    return this.#derived.take(lastWaitId, this.status.kind === 'ended');
  }

  /** Whether all applied cancels have reached a wait: if not, none was open, or the function had settled. */
  get wasCancelHeard(): boolean {
    return this.#cancels.areHeard;
  }

  /** Inbox ids of the applied cancels that have reached no wait of the workflow. */
  get unheardCancels(): readonly string[] {
    return this.#cancels.unheard;
  }

  /** Work that was dropped because nothing waited for it; it may never happen. */
  get dropped(): readonly Dropped[] {
    return this.#dropped.all;
  }

  /** Whether the workflow's function has settled, but something that outlives the run must be started first. */
  get isLeaving(): boolean {
    return this.#waits.isLeaving;
  }

  /** Number of the last wait whose request an applied event records. */
  get lastRecordedWait(): number {
    return this.#waits.requests.lastRecorded;
  }

  /** Returns the command of a wait that the workflow still waits for. */
  command(waitId: WaitId): Command | undefined {
    return this.#waits.command(waitId);
  }

  /** Answers a query with the workflow's current state. @throws EngineError `QUERY_NOT_FOUND`, `QUERY_FAILED` */
  query(name: string, input: JsonValue | undefined): JsonValue | undefined {
    return this.#queries.answer(name, input);
  }

  /** Applies the next event of the history, and lets the workflow continue until it waits again. */
  async apply(event: HistoryEvent): Promise<void> {
    const { kind } = this.status;
    if (kind === 'blocked') return;
    if (kind === 'ended') {
      // Settlements and signals may share a commit with the event that ended the workflow; a request may not follow it.
      if (isRequest(event)) this.#checkRequest(event, undefined);
      if (event.type === 'CancelRequested') this.#cancels.takeLate(event);
      return;
    }
    this.#position.eventCount++;
    this.#position.nowMs = Math.max(this.#position.nowMs, event.atMs);
    if (isRequest(event)) this.#checkRequest(event, this.#waits.requests.next());
    else if (isEnd(event))
      await this.#end(event.waitId, () => (this.#position.isLive ? ownCopy(givenBy(event)) : givenBy(event)));
    else await this.#applyOutcome(event);
  }

  async #applyOutcome(event: Exclude<HistoryEvent, RequestEvent | EndEvent>): Promise<void> {
    switch (event.type) {
      case 'RunStarted':
        return this.#begin(event);
      case 'SignalReceived':
        return this.#receive(event);
      case 'MessageReceived':
        return event.answers === undefined ? this.#receive({ ...event, name: messageSignal }) : undefined;
      case 'SignalDelivered':
        if (!this.#position.isLive && !this.#signals.takeRecorded(event)) this.#blocked = deliveryMismatch(event);
        return;
      case 'WaitsClosed': {
        if (this.#position.isLive) return;
        const unclosed = event.waitIds.find((waitId) => !this.#waits.closed.takeRecorded(waitId));
        if (unclosed !== undefined) this.#blocked = closingMismatch(unclosed);
        return;
      }
      case 'ExternalWaitIssued': {
        const issued = this.#news.takeIssuing(event.waitId);
        if (issued === undefined) return;
        return this.#advance(() => {
          issued(this.#options.tokenOf?.(event.waitId, event.keyId) ?? '');
        });
      }
      case 'RemoteQuestionAsked':
      case 'RemoteTaskProgressed': {
        const tell = this.#news.tellerOf(event);
        if (tell === undefined) return;
        return this.#advance(tell);
      }
      case 'TokenSettled':
        return this.#takeSettlement(event.waitId);
      case 'CancelRequested': {
        const error = this.#cancels.take(event);
        return this.#advance(() => {
          this.#waits.cancelRun(error);
        });
      }
      case 'RemoteTaskStarted':
      case 'ChildStarted':
        return this.#started(event.waitId);
      // A terminate ends a run without its code; the others only inform readers of the log.
      case 'TerminateRequested':
      case 'StepStarted':
      case 'StepAttemptFailed':
      case 'RemoteTaskStartFailed':
      case 'RemoteTaskStartLost':
      case 'RemoteTaskStartAsked':
      case 'RemoteAnswerFailed':
      case 'PatchRecorded':
      case 'ProgressReported':
      case 'ArtifactUpdated':
      case 'RunPaused':
      case 'RunResumed':
      case 'RetryNowRequested':
      case 'RunEnding':
      case 'RunEnded':
        return;
    }
  }

  async #begin({ behaviors }: RunStarted): Promise<void> {
    if (behaviors > replayBehaviors) {
      this.#blocked = rulesUnknown(behaviors, replayBehaviors);
      return;
    }
    this.#waits.isStructured = behaviors >= 2;
    const { workflow, input } = this.#options;
    await this.#advance(() => {
      this.#hasBegun = true;
      const context = this.#host.contextOf(this.#waits.root);
      const run = async (): Promise<unknown> => workflow.run(context, input);
      run().then(
        (result) => {
          if (this.status.kind === 'waiting') this.#ending.returned(result);
        },
        (error: unknown) => {
          if (this.status.kind === 'waiting') this.#ending.threw(readable(error));
        },
      );
    });
  }

  async #receive(event: Pick<SignalReceived, 'inboxId' | 'name'>): Promise<void> {
    const { inboxId, name } = event;
    const { signalOf } = this.#options;
    const signal: { readonly payload?: JsonValue } | undefined = signalOf === undefined ? {} : signalOf(inboxId);
    if (signal === undefined) {
      this.#blocked = signalMissing(event);
      return;
    }
    await this.#advance(() => {
      this.#signals.receive(name, { inboxId, payload: signal.payload });
    });
  }

  async #takeSettlement(waitId: WaitId): Promise<void> {
    const command = this.#waits.command(waitId);
    if (command === undefined) return;
    if (!this.#waits.isOpen(waitId)) return this.#started(waitId);
    const outcome = this.#options.settlementOf(waitId);
    if (outcome === undefined) {
      this.#blocked = settlementMissing(waitId);
      return;
    }
    // A step that the log does not have as a long one ends by an event.
    const isOfTurn = command.kind === 'runStep' && !this.#waits.requests.isLongStep(waitId);
    await this.#end(waitId, () => (isOfTurn ? undefined : kindOf(command).given?.(command, outcome)));
  }

  /** Marks a wait as started, for which the end of the run may have waited. */
  async #started(waitId: WaitId): Promise<void> {
    if (this.#waits.started(waitId)) await this.#advance(() => undefined);
  }

  async #end(waitId: WaitId, toGiven: () => Given | undefined): Promise<void> {
    // May have been closed by a cancel.
    if (!this.#waits.isOpen(waitId)) return;
    await this.#advance(() => {
      const given = toGiven();
      if (given !== undefined) this.#waits.give(waitId, given);
    });
  }

  async #advance(act: () => void): Promise<void> {
    const { watch, runId } = this.#options;
    return watch === undefined ? this.#move(act) : watch(runId, () => this.#move(act));
  }

  async #move(act: () => void): Promise<void> {
    this.#position.isAdvancing = true;
    act();
    do await this.#options.drain({ quietly: this.#waits.isRunClosed });
    while (this.status.kind === 'waiting' && this.#ending.wrapUp());
    this.#position.isAdvancing = false;
    if (this.#hasBegun && this.status.kind === 'waiting' && this.#waits.openCount === 0)
      this.#blocked = stuck(this.#waits.isOwing);
  }

  #checkRequest(event: RequestEvent, asked: Command | undefined): void {
    this.#blocked = mismatchOf(event, asked?.waitId === event.waitId ? asked : undefined);
    if (this.#blocked === undefined) this.#waits.requests.record(event);
  }
}

/** Copies the result of a new event, which is still to be stored: changes by the workflow must not reach the event. */
function ownCopy(given: Given): Given {
  return given instanceof Error ? given : { value: toJson(given.value) };
}
