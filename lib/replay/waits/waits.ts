import type { WaitId } from '../../base/ids.js';
import { ClosedWaits } from './closed-waits.js';
import type { Command } from '../command.js';
import { Debts } from './debts.js';
import type { Given } from '../kinds/kind.js';
import { kindOf, outlivesRun } from '../kinds/kinds.js';
import { Requests } from './requests.js';
import { Scope } from './scope.js';

interface Wait {
  readonly command: Command;
  readonly scope: Scope;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** The log says that what it asked for is there. */
  isStarted: boolean;
}

/**
 * The open promises of one execution, in the order in which the workflow asked for them. Ids are positions in that
 * order, so they are the same on every replay.
 */
export class Waits {
  readonly root = new Scope(undefined);
  readonly requests = new Requests();
  readonly debts = new Debts();
  readonly closed = new ClosedWaits();
  /** Rules of replay 2: whatever closes a scope waits for what is owed there, and the log has the waits that were closed. */
  isStructured = false;
  #lastId = 0;
  readonly #open = new Map<WaitId, Wait>();
  /** A cancel of the run that found no wait it could reject: the next one that it reaches takes it. */
  #pendingCancel: Error | undefined;
  /** What the run leaves behind at its end and must be started first. Nobody waits for it any more. */
  readonly #leaving = new Map<WaitId, Command>();
  readonly #onClosed: (command: Command) => void;

  /** `onClosed` hears of each wait that is no longer open. */
  constructor(onClosed: (command: Command) => void = () => undefined) {
    this.#onClosed = onClosed;
  }

  /** Waits that something can still come of. */
  get openCount(): number {
    return this.#open.size + this.#leaving.size;
  }

  /** Something that was closed has not done what it owes. */
  get isOwing(): boolean {
    return this.debts.isOwing || (this.isRunClosed && this.root.owed > 0);
  }

  get isRunClosed(): boolean {
    return this.root.cancelledWith !== undefined;
  }

  /** The run ends, and something that outlives it is not started yet. */
  get isLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** A cancel of the run has reached no wait so far. */
  get hasPendingCancel(): boolean {
    return this.#pendingCancel !== undefined;
  }

  isOpen(waitId: WaitId): boolean {
    return this.#open.has(waitId);
  }

  /** The command of a wait that is open, or left behind and not started. */
  command(waitId: WaitId): Command | undefined {
    return this.#open.get(waitId)?.command ?? this.#leaving.get(waitId);
  }

  /** A wait of a cancelled scope is rejected at once, before it has an id. */
  ask<Value>(scope: Scope, toCommand: (waitId: WaitId) => Command): Promise<Value> {
    const canceller = scope.canceller();
    // A loop that catches its cancel and asks again would hold the process for ever.
    if (this.isStructured && canceller?.refuse() === false) return new Promise(() => undefined);
    const cancellation = canceller?.cancelledWith ?? this.#takePendingCancel(scope);
    if (cancellation !== undefined) return Promise.reject(cancellation);
    const command = toCommand(String(++this.#lastId));
    this.requests.add(command);
    return new Promise<Value>((resolve, reject) => {
      this.#open.set(command.waitId, {
        command,
        scope,
        resolve: resolve as (value: unknown) => void,
        reject,
        isStarted: false,
      });
    });
  }

  /** Ends an open wait. */
  give(waitId: WaitId, given: Given): void {
    const wait = this.#close(waitId);
    if (given instanceof Error) wait?.reject(given);
    else wait?.resolve(given.value);
  }

  /** Closes a wait that has not ended, for what the code has done. */
  drop(waitId: WaitId, error: Error): void {
    const wait = this.#close(waitId);
    if (wait !== undefined && this.isStructured && kindOf(wait.command).hasToken !== true)
      this.closed.add(wait.command);
    wait?.reject(error);
  }

  /** What the wait asked for is there, or can no longer come. True: it was all that the end of the run waited for it. */
  started(waitId: WaitId): boolean {
    const wait = this.#open.get(waitId);
    if (wait !== undefined) wait.isStarted = true;
    return this.#leaving.delete(waitId);
  }

  /** Open waits that no event records, in the order in which they were asked for, but for those within shields of `outer`. */
  openUnrecorded(outer?: Scope): readonly Command[] {
    return this.requests.unrecorded().filter(({ waitId }) => {
      const scope = this.#open.get(waitId)?.scope;
      return scope !== undefined && (outer === undefined || scope.isReachedFrom(outer));
    });
  }

  /**
   * The workflow's function has settled: closes everything, but for what outlives the run until that is started. False:
   * there was nothing.
   */
  closeRun(error: Error): boolean {
    this.#leave();
    return this.cancelScope(this.root, error) > 0;
  }

  /** Nothing is owed any more. False: something that outlives the run is to be started first. */
  leaveRun(): boolean {
    this.#leave();
    return this.#leaving.size === 0;
  }

  #leave(): void {
    for (const [waitId, { command, isStarted }] of this.#open)
      if (!isStarted && outlivesRun(command)) this.#leaving.set(waitId, command);
  }

  /** Rejects the open waits of the scope, in the order in which they were asked for, and all that it will ask for. */
  cancelScope(scope: Scope, error: Error): number {
    scope.cancelledWith ??= error;
    return this.#rejectReachedFrom(scope, error);
  }

  /** Rejects every open wait that is not shielded, once; if there is none, the next one. Later waits are free: cleanup. */
  cancelRun(error: Error): void {
    if (this.#rejectReachedFrom(this.root, error) === 0) this.#pendingCancel = error;
  }

  #rejectReachedFrom(scope: Scope, error: Error): number {
    const reached = [...this.#open].filter(([, wait]) => wait.scope.isReachedFrom(scope));
    for (const [waitId] of reached) this.drop(waitId, error);
    return reached.length;
  }

  #takePendingCancel(scope: Scope): Error | undefined {
    if (this.#pendingCancel === undefined || !scope.isReachedFrom(this.root)) return undefined;
    const error = this.#pendingCancel;
    this.#pendingCancel = undefined;
    return error;
  }

  #close(waitId: WaitId): Wait | undefined {
    const wait = this.#open.get(waitId);
    if (wait === undefined) return undefined;
    this.#open.delete(waitId);
    this.#onClosed(wait.command);
    return wait;
  }
}
