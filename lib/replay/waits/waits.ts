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
  /** Whether the log says that the requested work was started. */
  isStarted: boolean;
}

/**
 * Open promises of one execution, in the order in which the workflow requested them. Ids are positions in that order,
 * so they are the same on every replay.
 */
export class Waits {
  readonly root = new Scope(undefined);
  readonly requests = new Requests();
  readonly debts = new Debts();
  readonly closed = new ClosedWaits();
  /**
   * Whether replay rules 2 apply: what closes a scope waits for what is owed there, and the log records closed waits.
   */
  isStructured = false;
  #lastId = 0;
  readonly #open = new Map<WaitId, Wait>();
  /** Cancel of the run that found no wait to reject: it rejects the next wait that it reaches. */
  #pendingCancel: Error | undefined;
  /** Work that outlives the run and must be started before its end. Nothing waits for its result. */
  readonly #leaving = new Map<WaitId, Command>();
  readonly #onClosed: (command: Command) => void;

  /** Calls `onClosed` for each wait that is no longer open. */
  constructor(onClosed: (command: Command) => void = () => undefined) {
    this.#onClosed = onClosed;
  }

  /** Number of waits that can still be continued by an event. */
  get openCount(): number {
    return this.#open.size + this.#leaving.size;
  }

  /** Whether something that was closed still owes something. */
  get isOwing(): boolean {
    return this.debts.isOwing || (this.isRunClosed && this.root.owed > 0);
  }

  get isRunClosed(): boolean {
    return this.root.cancelledWith !== undefined;
  }

  /** Whether the run is ending, but something that outlives it is not started yet. */
  get isLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** Whether a cancel of the run has reached no wait so far. */
  get hasPendingCancel(): boolean {
    return this.#pendingCancel !== undefined;
  }

  isOpen(waitId: WaitId): boolean {
    return this.#open.has(waitId);
  }

  /** Returns the command of a wait that is open, or that outlives the run and is not started. */
  command(waitId: WaitId): Command | undefined {
    return this.#open.get(waitId)?.command ?? this.#leaving.get(waitId);
  }

  /** Adds a wait, and requests its command. In a cancelled scope it is rejected at once, before it has an id. */
  ask<Value>(scope: Scope, toCommand: (waitId: WaitId) => Command): Promise<Value> {
    const canceller = scope.canceller();
    // Otherwise a loop that catches its cancel and requests another wait would block the process for ever.
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

  /** Closes a wait that has not ended, because of what the code did. */
  drop(waitId: WaitId, error: Error): void {
    const wait = this.#close(waitId);
    if (wait !== undefined && this.isStructured && kindOf(wait.command).hasToken !== true)
      this.closed.add(wait.command);
    wait?.reject(error);
  }

  /**
   * Marks a wait as started, or as one that can no longer start. Returns true if the end of the run waited for that.
   */
  started(waitId: WaitId): boolean {
    const wait = this.#open.get(waitId);
    if (wait !== undefined) wait.isStarted = true;
    return this.#leaving.delete(waitId);
  }

  /**
   * Returns open waits that no event records, in the order of their requests, except those within shields of `outer`.
   */
  openUnrecorded(outer?: Scope): readonly Command[] {
    return this.requests.unrecorded().filter(({ waitId }) => {
      const scope = this.#open.get(waitId)?.scope;
      return scope !== undefined && (outer === undefined || scope.isReachedFrom(outer));
    });
  }

  /**
   * Closes everything after the workflow's function has settled. What outlives the run is kept until it is started.
   * Returns false if nothing was open.
   */
  closeRun(error: Error): boolean {
    this.#leave();
    return this.cancelScope(this.root, error) > 0;
  }

  /** Ends the run, which owes nothing. Returns false if something that outlives it must be started first. */
  leaveRun(): boolean {
    this.#leave();
    return this.#leaving.size === 0;
  }

  #leave(): void {
    for (const [waitId, { command, isStarted }] of this.#open)
      if (!isStarted && outlivesRun(command)) this.#leaving.set(waitId, command);
  }

  /**
   * Rejects the open waits of the scope in the order of their requests, and all later ones. Returns how many were open.
   */
  cancelScope(scope: Scope, error: Error): number {
    scope.cancelledWith ??= error;
    return this.#rejectReachedFrom(scope, error);
  }

  /**
   * Rejects every open wait that is not shielded or, if there is none, the next one. Later waits are allowed: cleanup.
   */
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
