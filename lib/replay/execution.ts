import {
  ChildFailed,
  EngineError,
  ExternalWaitFailed,
  fromStoredError,
  hasCode,
  isEngineError,
  readable,
  RemoteTaskTimedOut,
  RunCancelled,
  StepFailed,
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
  TokenSettled,
} from '../history/event.js';
import type { AskedQuestion } from '../history/remote-question.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { RemoteOutcome } from '../workflow/context.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Command, IssueToken, RunStep, StartChild, StartRemoteTask } from './command.js';
import { createContext } from './context.js';
import { ContinueAsNew } from './continue-as-new.js';
import { isRequest, mismatchOf, type RequestEvent } from './mismatch.js';
import { seededRandom } from './seeded.js';
import { Signals } from './signals.js';
import { Waits } from './waits.js';

/** Rules of replay that histories are written under; a history keeps those that it began with. */
export const replayBehaviors = 1;

export interface ExecutionOptions {
  readonly workflow: AnyWorkflow;
  readonly runId: RunId;
  readonly input: JsonValue | undefined;
  readonly seed: string;
  /** The settlement that a `TokenSettled` event refers to. */
  readonly settlementOf: (waitId: WaitId) => TokenOutcome | undefined;
  /** The payload that a `SignalReceived` event refers to; undefined when the signal had none. */
  readonly signalPayloadOf?: (inboxId: string) => JsonValue | undefined;
  /** The text of a token under the key that the history names. */
  readonly tokenOf?: (waitId: WaitId, keyId: string) => string;
  /** Patches that the whole history records. Default: none. */
  readonly patches?: ReadonlySet<string>;
  /** Resolves when the microtask queue has run dry: the only asynchronous thing that replay needs. */
  readonly drain: () => Promise<void>;
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
export type DerivedEvent = SignalDelivered | PatchRecorded | ProgressReported;

/**
 * Runs an author's function against a history. No IO: history in, commands and status out.
 *
 * X1  Events are applied one at a time, and the microtasks run dry in between, so the order in which promises settle is
 *     the order of the events and nothing else.
 * X2  The workflow's code runs only inside `apply`. A context method called at another time is a misuse and is reported.
 * X3  A recorded command is compared with what the code asks for now, in order. The first difference blocks the
 *     execution; nothing is applied after it.
 * X4  After the workflow has ended, events change nothing.
 */
export class Execution {
  readonly #options: ExecutionOptions;
  readonly #waits = new Waits();
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
    if (deliveries.length === 0 && this.#derived.length === 0) return [];
    const derived = this.#derived;
    this.#derived = [];
    return [
      ...deliveries.map((delivery): SignalDelivered => ({ type: 'SignalDelivered', atMs: this.#nowMs, ...delivery })),
      ...derived,
    ];
  }

  /** False when a cancel was applied and has reached no wait of the workflow: none was open, or its function had settled. */
  get wasCancelHeard(): boolean {
    return !this.#cancelledTooLate && !this.#waits.hasPendingCancel;
  }

  /** Inbox ids of the cancels that were applied and have reached no wait of the workflow. */
  get unheardCancels(): readonly string[] {
    return [...(this.#waits.hasPendingCancel ? this.#pendingCancels : []), ...this.#lateCancels];
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
        return this.#advance(() => {
          this.#begin();
        });
      case 'StepRequested':
      case 'TimerStarted':
      case 'SignalWaitStarted':
      case 'RemoteTaskRequested':
      case 'RemoteAnswerRequested':
      case 'ExternalWaitRequested':
      case 'ChildRequested':
        this.#checkRecorded(event);
        return;
      case 'StepCompleted':
        return this.#settle(event.waitId, (waitId) => {
          // The event is still to be stored: what the workflow does to its result must not get into it.
          this.#waits.resolve(waitId, this.#live ? toJson(event.result) : event.result);
        });
      case 'StepFailed':
        return this.#settle(event.waitId, (waitId) => {
          this.#waits.reject(waitId, stepFailed(event.error));
        });
      case 'TimerFired':
        return this.#settle(event.waitId, (waitId) => {
          this.#waits.resolve(waitId, undefined);
        });
      case 'SignalWaitTimedOut':
        return this.#settle(event.waitId, (waitId) => {
          this.#waits.reject(
            waitId,
            new EngineError('SIGNAL_TIMED_OUT', 'no signal came before the deadline of the wait'),
          );
        });
      case 'SignalReceived':
        return this.#advance(() => {
          this.#signals.receive(event.name, {
            inboxId: event.inboxId,
            payload: this.#options.signalPayloadOf?.(event.inboxId),
          });
        });
      case 'SignalDelivered':
        if (!this.#live && !this.#signals.takeRecorded(event)) this.#block(deliveryMismatch(event));
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
      case 'RemoteAnswerDelivered':
        return this.#settle(event.waitId, (waitId) => {
          this.#waits.resolve(waitId, undefined);
        });
      case 'RemoteAnswerRefused':
        return this.#settle(event.waitId, (waitId) => {
          this.#waits.reject(waitId, fromStoredError(event.error));
        });
      case 'TokenSettled':
        return this.#settleToken(event);
      case 'CancelRequested':
        this.#cancelled ??= event.reason === undefined ? {} : { reason: event.reason };
        this.#cancelError ??= new RunCancelled('RUN_CANCELLED', 'the run was asked to cancel');
        if (!this.#waits.hasPendingCancel) this.#pendingCancels = [];
        this.#pendingCancels.push(event.inboxId);
        return this.#cancelWith(this.#cancelError);
      // A terminate ends a run without its code; the others are for the log's reader.
      case 'TerminateRequested':
      case 'StepStarted':
      case 'StepAttemptFailed':
      case 'RemoteTaskStarted':
      case 'RemoteTaskStartFailed':
      case 'RemoteTaskStartLost':
      case 'RemoteTaskStartAsked':
      case 'RemoteAnswerFailed':
      case 'ChildStarted':
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
    const context = createContext(
      {
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
            this.#issuing.set(waitId, resolve);
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
      },
      this.#waits.root,
    );
    const run = async (): Promise<unknown> => workflow.run(context, input);
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
    if (this.#status.kind === 'waiting') this.#status = { kind: 'ended', outcome: outcome() };
  }

  #failed(error: unknown): RunOutcome {
    if (error instanceof ContinueAsNew) {
      // Of the seed, which nobody outside knows: the next run's id may be a task id.
      const nextRunId = this.#options.digest(`next ${this.#options.seed}`).slice(0, 32);
      return { status: 'continued', nextRunId, ...(error.input === undefined ? {} : { input: error.input }) };
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
    const { waitId } = command;
    switch (command.kind) {
      case 'startRemoteTask':
        this.#give(waitId, remoteResult(command, outcome));
        return;
      case 'issueToken':
        this.#give(waitId, externalResult(command, outcome));
        return;
      case 'startChild':
        this.#give(waitId, childResult(command, outcome));
        return;
      case 'runStep':
        if (this.#longSteps.has(waitId)) this.#give(waitId, longStepResult(command, outcome));
        return;
      case 'startTimer':
      case 'waitForSignal':
      case 'answerRemote':
        return;
    }
  }

  #give(waitId: WaitId, given: { readonly value: unknown } | Error): void {
    if (given instanceof Error) this.#waits.reject(waitId, given);
    else this.#waits.resolve(waitId, given.value);
  }

  async #advance(act: () => void): Promise<void> {
    this.#advancing = true;
    act();
    await this.#options.drain();
    this.#advancing = false;
    if (this.#begun && this.#status.kind === 'waiting' && this.#waits.openCount === 0) {
      this.#block(
        storedError(
          'WORKFLOW_STUCK',
          'the workflow waits, but for nothing of ctx: it awaits a promise of its own (a fetch, a timer, a file). Move that work into ctx.step; after the deploy the run goes on by itself.',
        ),
      );
    }
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
  return { status: 'completed', ...(json === undefined ? {} : { result: json }) };
}

type Given = { readonly value: unknown } | Error;

function remoteResult({ server, name, timeoutMs }: StartRemoteTask, outcome: TokenOutcome): Given {
  switch (outcome.kind) {
    case 'completed': {
      const { result, isError, taskId, phase } = outcome;
      const value: RemoteOutcome = {
        result,
        isError,
        server,
        ...(taskId === undefined ? {} : { taskId }),
        ...(phase === undefined ? {} : { phase }),
      };
      return { value };
    }
    case 'failed':
      return fromStoredError({ ...outcome.error, details: { server, ...outcome.error.details } });
    case 'timed_out':
    case 'abandoned':
    case 'run_ended':
      return new RemoteTaskTimedOut(
        'REMOTE_TASK_TIMED_OUT',
        `remote task "${name}" on "${server}" had no end within ${timeoutMs / 1000} s`,
        { details: { server, timeoutMs } },
      );
  }
}

function longStepResult({ name }: RunStep, outcome: TokenOutcome): Given {
  switch (outcome.kind) {
    case 'completed':
      return outcome.isError
        ? stepFailed(storedError('STEP_FAILED', `step "${name}" was settled as failed`, { result: outcome.result }))
        : { value: outcome.isVoid === true ? undefined : outcome.result };
    case 'failed': {
      const { code, message, details } = outcome.error;
      if (code !== 'REMOTE_TASK_FAILED') return stepFailed(outcome.error);
      // By hand: whoever does that does not say what the wait is for.
      return stepFailed(
        storedError('STEP_FAILED', `step "${name}" failed: ${message.replace(/^remote task failed: /, '')}`, details),
      );
    }
    case 'timed_out':
    case 'abandoned':
    case 'run_ended':
      return stepFailed(storedError('STEP_TIMED_OUT', `step "${name}" had no end before its deadline`, { step: name }));
  }
}

function externalResult({ name, form }: IssueToken, outcome: TokenOutcome): Given {
  switch (outcome.kind) {
    case 'completed':
      return { value: { result: outcome.result, isError: outcome.isError } };
    case 'failed':
      // Whoever settles a token does not say what its wait is for, so the text begins like that of a remote task.
      return new ExternalWaitFailed(
        'EXTERNAL_FAILED',
        outcome.error.message.replace(/^remote task failed: /, ''),
        outcome.error.details === undefined ? {} : { details: outcome.error.details },
      );
    case 'timed_out':
    case 'abandoned':
    case 'run_ended':
      return form === undefined
        ? new EngineError('EXTERNAL_TIMED_OUT', `nobody settled token "${name}" before its deadline`)
        : new EngineError('INPUT_TIMED_OUT', `nobody answered the question "${name}" in time`);
  }
}

function childResult({ workflow }: StartChild, outcome: TokenOutcome): Given {
  switch (outcome.kind) {
    case 'completed':
      return { value: outcome.result };
    case 'failed':
      return new ChildFailed(
        'CHILD_FAILED',
        outcome.error.message,
        outcome.error.details === undefined ? {} : { details: outcome.error.details },
      );
    case 'timed_out':
    case 'abandoned':
    case 'run_ended':
      return new EngineError('CHILD_TIMED_OUT', `child "${workflow}" had no end before its deadline`);
  }
}

function deliveryMismatch({ waitId, inboxId }: SignalDelivered): StoredError {
  return storedError(
    'NONDETERMINISM',
    `wait ${waitId}: the history gave it the signal ${inboxId}, the workflow now gives that signal to another wait or keeps it. Deploy code that takes the same signals; the run then goes on by itself.`,
    { waitId, inboxId },
  );
}

/** Whichever its code, so that one `catch` finds every failure of a step. */
function stepFailed({ code, message, details }: StoredError): StepFailed {
  return new StepFailed(code, message, details === undefined ? {} : { details });
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
