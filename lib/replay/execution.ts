import { defined } from '../base/defined.js';
import {
  EngineError,
  hasCode,
  isEngineError,
  readable,
  RunCancelled,
  storedError,
  toStoredError,
  type StoredError,
} from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import { toJson, type JsonValue } from '../base/json.js';
import { jsonBytes, jsonOverLimit } from '../base/json-limit.js';
import type { Log } from '../base/log.js';
import type { EpochMs } from '../base/time.js';
import type {
  HistoryEvent,
  PatchRecorded,
  ProgressReported,
  RunOutcome,
  SignalDelivered,
  SignalReceived,
  TokenSettled,
  WaitsClosed,
} from '../history/event.js';
import type { AskedQuestion } from '../history/remote-question.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Command } from './command.js';
import { createContext } from './context.js';
import type { ContextHost } from './context/host.js';
import { ContinueAsNew } from './continue-as-new.js';
import type { Dropped, Given } from './kinds/kind.js';
import { givenBy, isEnd, isRequest, kindOf, outlivesRun, type RequestEvent } from './kinds/kinds.js';
import { closingMismatch, deliveryMismatch, mismatchOf } from './mismatch.js';
import { seededRandom } from './seeded.js';
import { Signals } from './signals.js';
import { Waits } from './waits.js';

/**
 * Rules of replay that histories are written under; a history keeps those that it began with. 1: the run ends with the
 * workflow's function, and whatever else goes on in it is dropped. 2: it ends when what it has closed has done what it
 * owes, and the log has the waits that were closed.
 */
export const replayBehaviors = 2;

export interface ExecutionOptions {
  readonly workflow: AnyWorkflow;
  readonly runId: RunId;
  readonly input: JsonValue | undefined;
  readonly seed: string;
  /** The settlement that a `TokenSettled` event refers to. */
  readonly settlementOf: (waitId: WaitId) => TokenOutcome | undefined;
  /** The signal that a `SignalReceived` event refers to; undefined when it is not there. Default: all are, without a payload. */
  readonly signalOf?: (inboxId: string) => { readonly payload?: JsonValue } | undefined;
  /** The text of a token under the key that the history names. */
  readonly tokenOf?: (waitId: WaitId, keyId: string) => string;
  /** Patches that the whole history records. Default: none. */
  readonly patches?: ReadonlySet<string>;
  /**
   * Resolves when the microtask queue has run dry: the only asynchronous thing that replay needs. `quietly`: what is
   * rejected meanwhile is in nobody's hands, and that is no bug.
   */
  readonly drain: (options?: { readonly quietly?: boolean }) => Promise<void>;
  /** SHA-256 in hex. */
  readonly digest: (text: string) => string;
  readonly log: Log;
}

export type ExecutionStatus =
  /** At least one wait is open. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'ended'; readonly outcome: RunOutcome }
  /** The code and the history do not fit, or the code waits for something of its own. */
  | { readonly kind: 'blocked'; readonly error: StoredError };

/** Events that the code gives rise to beside its commands. */
export type DerivedEvent = SignalDelivered | WaitsClosed | PatchRecorded | ProgressReported;

/**
 * Runs an author's function against a history. No IO: history in, commands and status out.
 *
 * X1  Events are applied one at a time, and the microtasks run dry in between, so the order in which promises settle is
 *     the order of the events and nothing else.
 * X2  The workflow's code runs only inside `apply`. A context method called at another time is a misuse and is reported.
 * X3  A recorded command is compared with what the code asks for now, in order. The first difference blocks the
 *     execution; nothing is applied after it.
 * X4  After the workflow has ended, events change nothing.
 * X5  It has ended when its function has settled, everything else is closed, and nothing is owed: shielded parts and
 *     sagas have ended, and what outlives the run is started. The outcome is that of the function.
 */
export class Execution {
  readonly #options: ExecutionOptions;
  readonly #waits = new Waits((command) => {
    this.#forget(command);
  });
  readonly #signals = new Signals(this.#waits);
  readonly #issuing = new Map<WaitId, (token: string) => void>();
  /** What the workflow does with the questions of a call, by its wait. */
  readonly #askers = new Map<WaitId, (asked: AskedQuestion) => void>();
  /** Steps that the history has as long: a settlement ends them, whatever the code now says. */
  readonly #longSteps = new Set<WaitId>();
  readonly #queries = new Map<string, (input: JsonValue | undefined) => unknown>();
  /** What `ctx.patched` has said; the first answer stands. */
  readonly #patches = new Map<string, boolean>();
  #derived: (PatchRecorded | ProgressReported)[] = [];
  #status: ExecutionStatus = { kind: 'waiting' };
  /** A run that was cancelled before a delayed start never is. */
  #begun = false;
  #advancing = false;
  #live = false;
  #nowMs: EpochMs = 0;
  #eventCount = 0;
  #lastRecorded = 0;
  #cancelled: { readonly reason?: string } | undefined;
  /** Made when a cancel comes: an error takes its stack with it, and few runs need one. */
  #cancelError: RunCancelled | undefined;
  /** A cancel came when the workflow's function had settled. */
  #cancelledTooLate = false;
  /** Cancels, by their inbox ids, that came then, and those that have reached no wait so far. */
  readonly #lateCancels: string[] = [];
  #pendingCancels: string[] = [];
  /** Of the workflow's function, once it has settled. */
  #outcome: RunOutcome | undefined;
  /** What a saga that the end of the run has closed could not undo. */
  #notUndone: EngineError | undefined;
  #dropped: readonly Dropped[] = [];

  constructor(options: ExecutionOptions) {
    this.#options = options;
  }

  get status(): ExecutionStatus {
    return this.#status;
  }

  /** From now on events are new ones: the workflow's log speaks. */
  goLive(): void {
    this.#live = true;
  }

  /** Commands that the workflow has asked for and no applied event records, oldest first, at most `limit`. */
  newCommands(limit: number): readonly Command[] {
    return this.#waits.unrecorded(limit);
  }

  /** Events that no commit holds yet and that follow from those applied; `lastWaitId`: of waits recorded up to that one. */
  takeDerived(lastWaitId: number): readonly DerivedEvent[] {
    const deliveries = this.#signals.takeDeliveries(lastWaitId);
    // The end of the run closes whatever is open.
    const closed = this.#status.kind === 'ended' ? [] : this.#waits.takeClosed(lastWaitId);
    const waitIds = closed.filter((command) => !this.#hasToken(command)).map(({ waitId }) => waitId);
    if (deliveries.length === 0 && waitIds.length === 0 && this.#derived.length === 0) return [];
    const derived = this.#derived;
    this.#derived = [];
    return [
      ...deliveries.map((delivery): SignalDelivered => ({ type: 'SignalDelivered', atMs: this.#nowMs, ...delivery })),
      ...(waitIds.length === 0 ? [] : [{ type: 'WaitsClosed', atMs: this.#nowMs, waitIds } satisfies WaitsClosed]),
      ...derived,
    ];
  }

  /** A step that is a long one in the log ends by its settlement; one without a record will be what it is now. */
  #hasToken(command: Command): boolean {
    if (command.kind !== 'runStep') return false;
    return this.#longSteps.has(command.waitId) || (Number(command.waitId) > this.#lastRecorded && command.policy.long);
  }

  /** False when a cancel was applied and has reached no wait of the workflow: none was open, or its function had settled. */
  get wasCancelHeard(): boolean {
    return !this.#cancelledTooLate && !this.#waits.hasPendingCancel;
  }

  /** Inbox ids of the cancels that were applied and have reached no wait of the workflow. */
  get unheardCancels(): readonly string[] {
    return [...(this.#waits.hasPendingCancel ? this.#pendingCancels : []), ...this.#lateCancels];
  }

  /** What the workflow's function dropped by ending; nobody waited for it, and it may never happen. */
  get dropped(): readonly Dropped[] {
    return this.#dropped;
  }

  /** The workflow's function has settled, and something that outlives the run is to be started before it ends. */
  get isLeaving(): boolean {
    return this.#waits.isLeaving;
  }

  /** Number of the last wait whose request an applied event records. */
  get lastRecordedWait(): number {
    return this.#lastRecorded;
  }

  /** The command of a wait that the workflow still waits for. */
  command(waitId: WaitId): Command | undefined {
    return this.#waits.command(waitId);
  }

  /** Asks the workflow as it stands. @throws EngineError `QUERY_NOT_FOUND`, `QUERY_FAILED` */
  query(name: string, input: JsonValue | undefined): JsonValue | undefined {
    const handler = this.#queries.get(name);
    if (handler === undefined) {
      throw new EngineError(
        'QUERY_NOT_FOUND',
        `the workflow answers no query "${name}"; there is ${[...this.#queries.keys()].join(', ') || 'none'}`,
      );
    }
    try {
      const answer = handler(input);
      if (isThenable(answer)) {
        answer.then(undefined, () => undefined);
        throw new TypeError('its handler gave back a promise; a query answers at once');
      }
      return toJson(answer);
    } catch (error) {
      throw new EngineError(
        'QUERY_FAILED',
        `query "${name}" failed: ${error instanceof Error ? error.message : 'not an error'}`,
        { cause: error },
      );
    }
  }

  /** Takes in the next event of the history and lets the workflow go on until it waits again. */
  async apply(event: HistoryEvent): Promise<void> {
    if (this.#status.kind === 'blocked') return;
    if (this.#status.kind === 'ended') {
      // Settlements and signals may share a commit with the event that ended the workflow; a request may not follow it.
      if (isRequest(event)) this.#checkRecorded(event);
      if (event.type === 'CancelRequested') {
        this.#cancelledTooLate = true;
        this.#lateCancels.push(event.inboxId);
      }
      return;
    }
    this.#eventCount++;
    this.#nowMs = Math.max(this.#nowMs, event.atMs);
    if (isRequest(event)) {
      this.#checkRecorded(event);
      return;
    }
    if (isEnd(event)) {
      return this.#settle(event.waitId, () => {
        this.#give(event.waitId, this.#ownCopy(givenBy(event)));
      });
    }
    switch (event.type) {
      case 'RunStarted':
        if (event.behaviors > replayBehaviors) {
          this.#block(
            storedError(
              'HISTORY_FORMAT_UNKNOWN',
              `the history follows replay rules ${event.behaviors}, this version knows those up to ${replayBehaviors}`,
            ),
          );
          return;
        }
        this.#waits.isStructured = event.behaviors >= 2;
        return this.#advance(() => {
          this.#begin();
        });
      case 'SignalReceived':
        return this.#receive(event);
      case 'SignalDelivered':
        if (!this.#live && !this.#signals.takeRecorded(event)) this.#block(deliveryMismatch(event));
        return;
      case 'WaitsClosed':
        if (!this.#live) this.#checkClosed(event);
        return;
      case 'ExternalWaitIssued': {
        const issued = this.#issuing.get(event.waitId);
        this.#issuing.delete(event.waitId);
        if (issued === undefined) return;
        return this.#advance(() => {
          issued(this.#options.tokenOf?.(event.waitId, event.keyId) ?? '');
        });
      }
      case 'RemoteQuestionAsked': {
        const ask = this.#askers.get(event.waitId);
        if (ask === undefined) return;
        return this.#advance(() => {
          ask(
            event.round === undefined ? { question: event.question } : { question: event.question, round: event.round },
          );
        });
      }
      case 'TokenSettled':
        return this.#settleToken(event);
      case 'CancelRequested':
        this.#cancelled ??= event.reason === undefined ? {} : { reason: event.reason };
        this.#cancelError ??= new RunCancelled('RUN_CANCELLED', 'the run was asked to cancel');
        if (!this.#waits.hasPendingCancel) this.#pendingCancels = [];
        this.#pendingCancels.push(event.inboxId);
        return this.#cancelWith(this.#cancelError);
      case 'RemoteTaskStarted':
      case 'ChildStarted':
        return this.#started(event.waitId);
      // A terminate ends a run without its code; the others are for the log's reader.
      case 'TerminateRequested':
      case 'StepStarted':
      case 'StepAttemptFailed':
      case 'RemoteTaskStartFailed':
      case 'RemoteTaskStartLost':
      case 'RemoteTaskStartAsked':
      case 'RemoteAnswerFailed':
      case 'PatchRecorded':
      case 'ProgressReported':
      case 'RunPaused':
      case 'RunResumed':
      case 'RetryNowRequested':
      case 'RunEnding':
      case 'RunEnded':
        return;
    }
  }

  #begin(): void {
    this.#begun = true;
    const { workflow, input } = this.#options;
    const host: ContextHost = {
      contextOf: (scope) => createContext(host, scope),
      runId: this.#options.runId,
      seed: this.#options.seed,
      waits: this.#waits,
      signals: this.#signals,
      random: seededRandom(this.#options.seed, this.#options.digest),
      digest: this.#options.digest,
      log: this.#options.log,
      isAdvancing: () => this.#advancing,
      isLive: () => this.#live,
      nowMs: () => this.#nowMs,
      eventCount: () => this.#eventCount,
      tokenIssued: (waitId) =>
        new Promise((resolve) => {
          // A wait that was refused has no token, and one that is closed gets none.
          if (this.#waits.isOpen(waitId)) this.#issuing.set(waitId, resolve);
        }),
      onQuestion: (waitId, ask) => {
        if (ask === undefined) this.#askers.delete(waitId);
        else this.#askers.set(waitId, ask);
      },
      isPatched: (patchId) => this.#isPatched(patchId),
      reportProgress: (progress) => {
        if (this.#live) this.#derived.push({ type: 'ProgressReported', atMs: this.#nowMs, progress });
      },
      setQuery: (name, handler) => {
        this.#queries.set(name, handler);
      },
      misused: (error) => {
        this.#block(error);
      },
      notUndone: (error) => {
        if (this.#outcome !== undefined) this.#notUndone ??= error;
      },
      dropped: (asked) => {
        this.#drop(asked, 'a branch wins its race without what it asked for', () => true);
      },
    };
    const run = async (): Promise<unknown> => workflow.run(host.contextOf(this.#waits.root), input);
    run().then(
      (result) => {
        this.#end(() => completed(result));
      },
      (error: unknown) => {
        this.#end(() => this.#failed(readable(error)));
      },
    );
  }

  /** Old code ran past here without the mark: only what the history says. New ground: yes, and the history will say so. */
  #isPatched(patchId: string): boolean {
    const known = this.#patches.get(patchId);
    if (known !== undefined) return known;
    const isRecorded = this.#options.patches?.has(patchId) === true;
    const answer = this.#live || isRecorded;
    this.#patches.set(patchId, answer);
    if (this.#live && !isRecorded) this.#derived.push({ type: 'PatchRecorded', atMs: this.#nowMs, patchId });
    return answer;
  }

  #end(outcome: () => RunOutcome): void {
    if (this.#status.kind !== 'waiting') return;
    this.#outcome = outcome();
    if (this.#waits.isStructured) return;
    this.#drop(this.#waits.openUnrecorded());
    this.#status = { kind: 'ended', outcome: this.#outcome };
  }

  /** Of what was asked for on the last way, whatever would not be missed by anybody but its author. */
  #drop(
    asked: readonly Command[],
    warning = 'the run ends without what it asked for',
    isDropped = (command: Command): boolean => !this.#waits.isStructured || !outlivesRun(command),
  ): void {
    const dropped = asked.filter(isDropped).flatMap((command) => kindOf(command).toDropped?.(command) ?? []);
    this.#dropped = [...this.#dropped, ...dropped];
    if (!this.#live) return;
    const { runId, workflow, log } = this.#options;
    for (const { kind, name } of dropped) log.warn(warning, { runId, workflow: workflow.name, kind, name });
  }

  /**
   * Called when the microtasks have run dry, under rules 2: lets go on what waits for that, then closes the run, then ends
   * it. True: the workflow's code may have something to do.
   */
  #wrapUp(): boolean {
    if (this.#status.kind !== 'waiting') return false;
    if (this.#waits.settlePaid()) return true;
    if (this.#outcome === undefined) return false;
    if (!this.#waits.isRunClosed) {
      this.#drop(this.#waits.openUnrecorded(this.#waits.root));
      if (this.#waits.closeRun(new RunCancelled('RUN_CANCELLED', 'this wait was closed: the run ends'))) return true;
    }
    if (this.#waits.root.owed > 0 || !this.#waits.leaveRun()) return false;
    // What was begun within shields that have ended.
    this.#drop(this.#waits.openUnrecorded());
    this.#status = { kind: 'ended', outcome: this.#ended(this.#outcome) };
    return false;
  }

  /** A cancel that is over, but for what it could not undo, is no cancel. */
  #ended(outcome: RunOutcome): RunOutcome {
    if (outcome.status !== 'cancelled' || this.#notUndone === undefined) return outcome;
    return { status: 'failed', error: toStoredError(this.#notUndone, 'WORKFLOW_FAILED') };
  }

  #failed(error: unknown): RunOutcome {
    if (error instanceof ContinueAsNew) {
      // Of the seed, which nobody outside knows: the next run's id may be a task id.
      const nextRunId = this.#options.digest(`next ${this.#options.seed}`).slice(0, 32);
      return { status: 'continued', nextRunId, ...defined({ input: error.input }) };
    }
    // The cancel came through, as itself or as the cause of what cleanup threw. What was not undone must be heard of.
    const isCancel = this.#cancelError !== undefined && isOrWraps(error, this.#cancelError);
    if (isCancel && !hasCode(error, 'COMPENSATION_FAILED')) {
      return { status: 'cancelled', ...this.#cancelled };
    }
    // The run keeps the message alone; where in the code it came from is for the log.
    if (this.#live && !isEngineError(error))
      this.#options.log.warn('workflow failed', {
        runId: this.#options.runId,
        workflow: this.#options.workflow.name,
        error,
      });
    return { status: 'failed', error: toStoredError(error, 'WORKFLOW_FAILED') };
  }

  async #cancelWith(error: RunCancelled): Promise<void> {
    await this.#advance(() => {
      this.#waits.cancelRun(error);
    });
  }

  async #receive({ inboxId, name }: SignalReceived): Promise<void> {
    const { signalOf } = this.#options;
    const signal: { readonly payload?: JsonValue } | undefined = signalOf === undefined ? {} : signalOf(inboxId);
    if (signal === undefined) {
      this.#block(
        storedError(
          'HISTORY_FORMAT_UNKNOWN',
          `the history refers to the signal ${inboxId} "${name}", which is not there`,
        ),
      );
      return;
    }
    await this.#advance(() => {
      this.#signals.receive(name, { inboxId, payload: signal.payload });
    });
  }

  /** The end of the run may have waited for it. */
  async #started(waitId: WaitId): Promise<void> {
    if (this.#waits.started(waitId)) await this.#advance(() => undefined);
  }

  async #settle(waitId: WaitId, settle: (waitId: WaitId) => void): Promise<void> {
    // A cancel may have closed it already.
    if (!this.#waits.isOpen(waitId)) return;
    await this.#advance(() => {
      settle(waitId);
    });
  }

  async #settleToken({ waitId }: TokenSettled): Promise<void> {
    const command = this.#waits.command(waitId);
    if (command === undefined) return;
    if (!this.#waits.isOpen(waitId)) return this.#started(waitId);
    const outcome = this.#options.settlementOf(waitId);
    if (outcome === undefined) {
      this.#block(
        storedError('HISTORY_FORMAT_UNKNOWN', `wait ${waitId}: the history refers to a settlement that is not there`),
      );
      return;
    }
    await this.#settle(waitId, () => {
      this.#deliver(command, outcome);
    });
  }

  #deliver(command: Command, outcome: TokenOutcome): void {
    // A step that the log has as one of a turn ends by an event.
    if (command.kind === 'runStep' && !this.#longSteps.has(command.waitId)) return;
    const given = kindOf(command).given(command, outcome);
    if (given !== undefined) this.#give(command.waitId, given);
  }

  /** A new event is still to be stored: what the workflow does to its result must not get into it. */
  #ownCopy(given: Given): Given {
    return given instanceof Error || !this.#live ? given : { value: toJson(given.value) };
  }

  #give(waitId: WaitId, given: Given): void {
    if (given instanceof Error) this.#waits.reject(waitId, given);
    else this.#waits.resolve(waitId, given.value);
  }

  async #advance(act: () => void): Promise<void> {
    this.#advancing = true;
    act();
    do await this.#options.drain({ quietly: this.#waits.isRunClosed });
    while (this.#wrapUp());
    this.#advancing = false;
    if (this.#begun && this.#status.kind === 'waiting' && this.#waits.openCount === 0) {
      const who = this.#waits.isOwing
        ? 'a race, a scope or the run has closed a part of the workflow and waits for a shield or saga in it that waits'
        : 'the workflow waits';
      this.#block(
        storedError(
          'WORKFLOW_STUCK',
          `${who}, but for nothing of ctx: it awaits a promise of its own (a fetch, a timer, a file). Move that work into ctx.step; after the deploy the run goes on by itself.`,
        ),
      );
    }
  }

  /** The wait is open no longer: what is kept for it here would grow with the history. */
  #forget({ waitId, ...command }: Command): void {
    this.#issuing.delete(waitId);
    if (command.kind === 'waitForSignal') this.#signals.forget(command.name, waitId);
  }

  #checkClosed(event: WaitsClosed): void {
    const waitId = event.waitIds.find((closed) => !this.#waits.takeRecordedClosing(closed));
    if (waitId !== undefined) this.#block(closingMismatch(waitId));
  }

  #checkRecorded(event: RequestEvent): void {
    const asked = this.#status.kind === 'ended' ? undefined : this.#waits.nextUnrecorded();
    const isNext = asked?.waitId === event.waitId;
    const mismatch = mismatchOf(event, isNext ? asked : undefined);
    if (mismatch !== undefined) {
      this.#block(mismatch);
      return;
    }
    this.#waits.takeUnrecorded(event.waitId);
    this.#lastRecorded = Number(event.waitId);
    if (event.type === 'StepRequested' && event.long === true) this.#longSteps.add(event.waitId);
  }

  #block(error: StoredError): void {
    this.#status = { kind: 'blocked', error };
  }
}

function completed(result: unknown): RunOutcome {
  let json: JsonValue | undefined;
  try {
    json = toJson(result);
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    return {
      status: 'failed',
      error: storedError('WORKFLOW_FAILED', `the result of the workflow is not JSON: ${why}`),
    };
  }
  const error = jsonOverLimit('the result of the workflow is', jsonBytes(json));
  if (error !== undefined) return { status: 'failed', error };
  return { status: 'completed', ...defined({ result: json }) };
}

/** `error` is `wanted`, has it as a cause, or is what `Promise.any` made of several of it. */
function isOrWraps(error: unknown, wanted: Error, depth = 0): boolean {
  if (error === wanted) return true;
  if (!(error instanceof Error) || depth === 8) return false;
  const inner = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error.cause];
  return inner.some((one) => isOrWraps(one, wanted, depth + 1));
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}
