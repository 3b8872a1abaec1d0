/** Number of waits that a closed scope rejects; later ones never end. */
const refusedWaitsMax = 10_000;

/**
 * Part of a workflow whose waits can be closed together. A shielded scope protects what is inside it from being closed
 * from outside.
 */
export class Scope {
  readonly parent: Scope | undefined;
  readonly isShielded: boolean;
  /** Error with which every wait of this scope is rejected, once it has been cancelled. */
  cancelledWith: Error | undefined;
  #owed = 0;
  #refused = 0;

  constructor(parent: Scope | undefined, isShielded = false) {
    this.parent = parent;
    this.isShielded = isShielded;
  }

  /** Returns true if `outer` contains this scope, and no shield is in between, this scope included. */
  isReachedFrom(outer: Scope): boolean {
    if (outer === this) return true;
    return !this.isShielded && this.parent?.isReachedFrom(outer) === true;
  }

  /** Returns the nearest cancelled scope that reaches this one. */
  canceller(): (Scope & { readonly cancelledWith: Error }) | undefined {
    if (isCancelled(this)) return this;
    return this.isShielded ? undefined : this.parent?.canceller();
  }

  /** Number of shielded parts and sagas in progress here and within, and of races and scopes that wait for such. */
  get owed(): number {
    return this.#owed;
  }

  /** Makes this scope, and all scopes around it, owe something until the returned function is called. */
  owe(): () => void {
    const owing: Scope[] = [this];
    for (let around = this.parent; around !== undefined; around = around.parent) owing.push(around);
    for (const scope of owing) scope.#owed++;
    return () => {
      for (const scope of owing.splice(0)) scope.#owed--;
    };
  }

  /** Counts a rejected wait. Returns false after so many that the code must be requesting waits in an endless loop. */
  refuse(): boolean {
    return ++this.#refused <= refusedWaitsMax;
  }
}

function isCancelled(scope: Scope): scope is Scope & { readonly cancelledWith: Error } {
  return scope.cancelledWith !== undefined;
}
