/** Waits that a closed scope turns away; those after it never end. */
const refusedWaitsMax = 10_000;

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
