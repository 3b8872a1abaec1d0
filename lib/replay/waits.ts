import type { WaitId } from '../base/ids.js';
import { refusedWaitsMax } from '../base/limits.js';
import type { Command } from './command.js';
import { kindOf, outlivesRun } from './kinds/kinds.js';

/**
 * Part of a workflow whose waits can be closed together. A shielded one keeps what is inside it from being closed by
 * what is outside.
 */
export class Scope {
  readonly parent: Scope | undefined;
  readonly isShielded: boolean;
  /** Why every wait of this scope is rejected, once it has been cancelled. */
  cancelledWith: Error | undefined;
  #owed = 0;
  #refused = 0;

  constructor(parent: Scope | undefined, isShielded = false) {
    this.parent = parent;
    this.isShielded = isShielded;
  }

  /** True when nothing between this scope and `outer`, this one included, is a shield. */
  isReachedFrom(outer: Scope): boolean {
    if (outer === this) return true;
    return !this.isShielded && this.parent?.isReachedFrom(outer) === true;
  }

  /** The nearest cancelled scope that reaches this one. */
  canceller(): (Scope & { readonly cancelledWith: Error }) | undefined {
    if (isCancelled(this)) return this;
    return this.isShielded ? undefined : this.parent?.canceller();
  }

  /** Shielded parts and sagas that are in progress here and within, and what waits there for such. */
  get owed(): number {
    return this.#owed;
  }

  /** This scope and all around it owe something, until what is given back is called. */
  owe(): () => void {
    const owing: Scope[] = [this];
    for (let around = this.parent; around !== undefined; around = around.parent) owing.push(around);
    for (const scope of owing) scope.#owed++;
    return () => {
      for (const scope of owing.splice(0)) scope.#owed--;
    };
  }

  /** False: it has turned away so many waits since it was cancelled that whoever asks will ask for ever. */
  refuse(): boolean {
    return ++this.#refused <= refusedWaitsMax;
  }
}

function isCancelled(scope: Scope): scope is Scope & { readonly cancelledWith: Error } {
  return scope.cancelledWith !== undefined;
}

interface Wait {
  readonly command: Command;
  readonly scope: Scope;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** The log says that what it asked for is there. */
  isStarted: boolean;
}

/** Scopes that have been closed, and what goes on when nothing is owed there. */
interface Closing {
  readonly scopes: readonly Scope[];
  readonly settle: () => void;
}

/**
 * The open promises of one execution, in the order in which the workflow asked for them. Ids are positions in that
 * order, so they are the same on every replay.
 */
export class Waits {
  readonly root = new Scope(undefined);
  /** Rules of replay 2: whatever closes a scope waits for what is owed there, and the log has the waits that were closed. */
  isStructured = false;
  #lastId = 0;
  readonly #open = new Map<WaitId, Wait>();
  /** Commands asked for and not yet recorded: those from `#nextUnrecorded` on. Also of waits that a cancel has closed. */
  #asked: Command[] = [];
  #nextUnrecorded = 0;
  /** A cancel of the run that found no wait it could reject: the next one that it reaches takes it. */
  #pendingCancel: Error | undefined;
  #closing: Closing[] = [];
  /** Waits of no token that were closed and not ended, and that no event says so of. */
  readonly #closed = new Map<WaitId, Command>();
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
    return this.#closing.length > 0 || (this.isRunClosed && this.root.owed > 0);
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
    this.#asked.push(command);
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

  /** At most `limit` of the commands that no commit has recorded yet, oldest first. */
  unrecorded(limit: number): readonly Command[] {
    return this.#asked.slice(this.#nextUnrecorded, this.#nextUnrecorded + limit);
  }

  /** The oldest command without a record, if it is the one of `waitId`; it counts as recorded from now on. */
  takeUnrecorded(waitId: WaitId): Command | undefined {
    const next = this.#asked[this.#nextUnrecorded];
    if (next?.waitId !== waitId) return undefined;
    this.#nextUnrecorded++;
    if (this.#nextUnrecorded === this.#asked.length) {
      this.#asked = [];
      this.#nextUnrecorded = 0;
    }
    return next;
  }

  /** The oldest command without a record. */
  nextUnrecorded(): Command | undefined {
    return this.#asked[this.#nextUnrecorded];
  }

  resolve(waitId: WaitId, value: unknown): void {
    this.#close(waitId)?.resolve(value);
  }

  reject(waitId: WaitId, error: Error): void {
    this.#close(waitId)?.reject(error);
  }

  /** Closes a wait that has not ended, for what the code has done. */
  drop(waitId: WaitId, error: Error): void {
    const wait = this.#close(waitId);
    if (wait !== undefined && this.isStructured && !kindOf(wait.command).hasToken)
      this.#closed.set(waitId, wait.command);
    wait?.reject(error);
  }

  /** Waits up to number `lastWaitId` that were closed and that no event says so of; they count as recorded. */
  takeClosed(lastWaitId: number): readonly Command[] {
    if (this.#closed.size === 0) return [];
    const taken = [...this.#closed.values()].filter(({ waitId }) => Number(waitId) <= lastWaitId);
    for (const { waitId } of taken) this.#closed.delete(waitId);
    return taken;
  }

  /** Takes the recorded closing of a wait out; false when the code has not closed it. */
  takeRecordedClosing(waitId: WaitId): boolean {
    return this.#closed.delete(waitId);
  }

  /** What the wait asked for is there, or can no longer come. True: it was all that the end of the run waited for it. */
  started(waitId: WaitId): boolean {
    const wait = this.#open.get(waitId);
    if (wait !== undefined) wait.isStarted = true;
    return this.#leaving.delete(waitId);
  }

  /**
   * Resolves when the microtasks have run dry and nothing is owed by `closed`. Until then that is owed by `around` too:
   * what closes `around` waits for it.
   */
  paid(around: Scope, closed: readonly Scope[]): Promise<void> {
    const paid = around.owe();
    return new Promise((resolve) => {
      this.#closing.push({
        scopes: closed,
        settle: () => {
          paid();
          resolve();
        },
      });
    });
  }

  /** Called when the microtasks have run dry: what waits for that goes on. False: there is none. */
  settlePaid(): boolean {
    const isPaid = ({ scopes }: Closing): boolean => scopes.every(({ owed }) => owed === 0);
    const paid = this.#closing.filter(isPaid);
    if (paid.length === 0) return false;
    this.#closing = this.#closing.filter((closing) => !isPaid(closing));
    for (const { settle } of paid) settle();
    return true;
  }

  /** Open waits that no event records, in the order in which they were asked for, but for those within shields of `outer`. */
  openUnrecorded(outer?: Scope): readonly Command[] {
    return this.#asked.slice(this.#nextUnrecorded).filter(({ waitId }) => {
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
