import type { WaitId } from '../base/ids.js';
import type { Command } from './command.js';

/**
 * Part of a workflow whose waits can be closed together. A shielded one keeps what is inside it from being closed by
 * what is outside.
 */
export class Scope {
  readonly parent: Scope | undefined;
  readonly isShielded: boolean;
  /** Why every wait of this scope is rejected, once it has been cancelled. */
  cancelledWith: Error | undefined;

  constructor(parent: Scope | undefined, isShielded = false) {
    this.parent = parent;
    this.isShielded = isShielded;
  }

  /** True when nothing between this scope and `outer`, this one included, is a shield. */
  isReachedFrom(outer: Scope): boolean {
    if (outer === this) return true;
    return !this.isShielded && this.parent?.isReachedFrom(outer) === true;
  }

  /** The error of the nearest cancelled scope that reaches this one. */
  cancellation(): Error | undefined {
    if (this.cancelledWith !== undefined || this.isShielded) return this.cancelledWith;
    return this.parent?.cancellation();
  }
}

interface Wait {
  readonly command: Command;
  readonly scope: Scope;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The open promises of one execution, in the order in which the workflow asked for them. Ids are positions in that
 * order, so they are the same on every replay.
 */
export class Waits {
  readonly root = new Scope(undefined);
  #lastId = 0;
  readonly #open = new Map<WaitId, Wait>();
  /** Commands asked for and not yet recorded: those from `#nextUnrecorded` on. Also of waits that a cancel has closed. */
  #asked: Command[] = [];
  #nextUnrecorded = 0;
  /** A cancel of the run that found no wait it could reject: the next one that it reaches takes it. */
  #pendingCancel: Error | undefined;

  get openCount(): number {
    return this.#open.size;
  }

  /** A cancel of the run has reached no wait so far. */
  get hasPendingCancel(): boolean {
    return this.#pendingCancel !== undefined;
  }

  isOpen(waitId: WaitId): boolean {
    return this.#open.has(waitId);
  }

  /** The command of an open wait. */
  command(waitId: WaitId): Command | undefined {
    return this.#open.get(waitId)?.command;
  }

  /** A wait of a cancelled scope is rejected at once, before it has an id. */
  ask<Value>(scope: Scope, toCommand: (waitId: WaitId) => Command): Promise<Value> {
    const cancellation = scope.cancellation() ?? this.#takePendingCancel(scope);
    if (cancellation !== undefined) return Promise.reject(cancellation);
    const command = toCommand(String(++this.#lastId));
    this.#asked.push(command);
    return new Promise<Value>((resolve, reject) => {
      this.#open.set(command.waitId, { command, scope, resolve: resolve as (value: unknown) => void, reject });
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

  /** Rejects the open waits of the scope, in the order in which they were asked for, and all that it will ask for. */
  cancelScope(scope: Scope, error: Error): void {
    scope.cancelledWith ??= error;
    this.#rejectReachedFrom(scope, error);
  }

  /** Rejects every open wait that is not shielded, once; if there is none, the next one. Later waits are free: cleanup. */
  cancelRun(error: Error): void {
    if (this.#rejectReachedFrom(this.root, error) === 0) this.#pendingCancel = error;
  }

  #rejectReachedFrom(scope: Scope, error: Error): number {
    const reached = [...this.#open].filter(([, wait]) => wait.scope.isReachedFrom(scope));
    for (const [waitId] of reached) this.reject(waitId, error);
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
    this.#open.delete(waitId);
    return wait;
  }
}
