/** Lets a test wait for the next change. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  notify(): void {
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#listeners.add(resolve);
    });
  }
}
