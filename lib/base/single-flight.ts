/** Runs work once for all concurrent callers. */
export class SingleFlight<Result> {
  #running: Promise<Result> | undefined;

  async run(work: () => Promise<Result>): Promise<Result> {
    this.#running ??= work().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}
