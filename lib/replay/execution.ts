import {
  fromStoredError,
  RemoteTaskTimedOut,
  RunCancelled,
  StepFailed,
  storedError,
  toStoredError,
  type StoredError,
} from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import { toJson, utf8Bytes, type JsonValue } from '../base/json.js';
import { payloadMaxBytes } from '../base/limits.js';
import type { Log } from '../base/log.js';
import type { EpochMs } from '../base/time.js';
import type { HistoryEvent, RunOutcome, TokenSettled } from '../history/event.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { RemoteOutcome } from '../workflow/context.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Command, StartRemoteTask } from './command.js';
import { createContext } from './context.js';
import { mismatchOf, type RequestEvent } from './mismatch.js';
import { Waits } from './waits.js';

/** Rules of replay that histories are written under; a history keeps those that it began with. */
export const replayBehaviors = 1;

export interface ExecutionOptions {
  readonly workflow: AnyWorkflow;
  readonly runId: string;
  readonly input: JsonValue | undefined;
  readonly seed: string;
  /** The settlement that a `TokenSettled` event refers to. */
  readonly settlementOf: (waitId: WaitId) => TokenOutcome | undefined;
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
  #status: ExecutionStatus = { kind: 'waiting' };
  #advancing = false;
  #live = false;
  #nowMs: EpochMs = 0;
  #cancelled: { readonly reason?: string } | undefined;
  readonly #cancelError = new RunCancelled('RUN_CANCELLED', 'the run was asked to cancel');

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

  /** The command of a wait that the workflow still waits for. */
  command(waitId: WaitId): Command | undefined {
    return this.#waits.command(waitId);
  }

  /** Takes in the next event of the history and lets the workflow go on until it waits again. */
  async apply(event: HistoryEvent): Promise<void> {
    if (this.#status.kind === 'blocked') return;
    if (this.#status.kind === 'ended') {
      // Settlements and signals may share a commit with the event that ended the workflow; a request may not follow it.
      if (isRequest(event)) this.#checkRecorded(event);
      return;
    }
    this.#nowMs = Math.max(this.#nowMs, event.atMs);
    switch (event.type) {
      case 'RunStarted':
        return this.#advance(() => {
          this.#begin();
        });
      case 'StepRequested':
      case 'TimerStarted':
      case 'RemoteTaskRequested':
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
      case 'TokenSettled':
        return this.#settleToken(event);
      case 'CancelRequested':
        this.#cancelled ??= event.reason === undefined ? {} : { reason: event.reason };
        return this.#advance(() => {
          this.#waits.rejectAll(this.#cancelError);
        });
      // A terminate ends a run without its code.
      case 'TerminateRequested':
      case 'StepAttemptFailed':
      case 'RemoteTaskStarted':
      case 'RemoteTaskStartFailed':
      case 'RunEnding':
      case 'RunEnded':
        return;
    }
  }

  #begin(): void {
    const { workflow, input } = this.#options;
    const context = createContext({
      runId: this.#options.runId,
      seed: this.#options.seed,
      waits: this.#waits,
      digest: this.#options.digest,
      log: this.#options.log,
      isAdvancing: () => this.#advancing,
      isLive: () => this.#live,
      nowMs: () => this.#nowMs,
      misused: (error) => {
        this.#block(error);
      },
    });
    const run = async (): Promise<unknown> => workflow.run(context, input);
    run().then(
      (result) => {
        this.#end(() => completed(result));
      },
      (error: unknown) => {
        this.#end(() => this.#failed(error));
      },
    );
  }

  #end(outcome: () => RunOutcome): void {
    if (this.#status.kind === 'waiting') this.#status = { kind: 'ended', outcome: outcome() };
  }

  #failed(error: unknown): RunOutcome {
    // The cancel came through, as itself or as the cause of what cleanup threw.
    if (this.#cancelled !== undefined && isOrWraps(error, this.#cancelError))
      return { status: 'cancelled', ...this.#cancelled };
    return { status: 'failed', error: toStoredError(error, 'WORKFLOW_FAILED') };
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
    if (command?.kind !== 'startRemoteTask') return;
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

  #deliver(command: StartRemoteTask, outcome: TokenOutcome): void {
    const { waitId, server } = command;
    switch (outcome.kind) {
      case 'completed': {
        const delivered: RemoteOutcome = {
          result: outcome.result,
          isError: outcome.isError,
          server,
          ...(outcome.taskId === undefined ? {} : { taskId: outcome.taskId }),
        };
        this.#waits.resolve(waitId, delivered);
        return;
      }
      case 'failed':
        this.#waits.reject(
          waitId,
          fromStoredError({ ...outcome.error, details: { server, ...outcome.error.details } }),
        );
        return;
      case 'timed_out':
      case 'run_ended':
        this.#waits.reject(
          waitId,
          new RemoteTaskTimedOut(
            'REMOTE_TASK_TIMED_OUT',
            `remote task "${command.name}" on "${server}" had no end within ${command.timeoutMs / 1000} s`,
            {
              details: { server, timeoutMs: command.timeoutMs },
            },
          ),
        );
        return;
    }
  }

  async #advance(act: () => void): Promise<void> {
    this.#advancing = true;
    act();
    await this.#options.drain();
    this.#advancing = false;
    if (this.#status.kind === 'waiting' && this.#waits.openCount === 0) {
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
    if (mismatch === undefined) this.#waits.takeUnrecorded(event.waitId);
    else this.#block(mismatch);
  }

  #block(error: StoredError): void {
    this.#status = { kind: 'blocked', error };
  }
}

function isRequest(event: HistoryEvent): event is RequestEvent {
  return event.type === 'StepRequested' || event.type === 'TimerStarted' || event.type === 'RemoteTaskRequested';
}

function completed(result: unknown): RunOutcome {
  let json: JsonValue | undefined;
  try {
    json = toJson(result);
  } catch (error) {
    return {
      status: 'failed',
      error: storedError(
        'WORKFLOW_FAILED',
        `the result of the workflow is not JSON: ${error instanceof Error ? error.message : ''}`,
      ),
    };
  }
  const sizeBytes = json === undefined ? 0 : utf8Bytes(JSON.stringify(json));
  if (sizeBytes > payloadMaxBytes) {
    return {
      status: 'failed',
      error: storedError(
        'PAYLOAD_TOO_LARGE',
        `the result of the workflow is ${sizeBytes} bytes of JSON, the limit is ${payloadMaxBytes}`,
        {
          sizeBytes,
          limitBytes: payloadMaxBytes,
        },
      ),
    };
  }
  return { status: 'completed', ...(json === undefined ? {} : { result: json }) };
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
