/** Work that many may ask for at the same time and that is done once for all of them. */
export class SingleFlight<Result> {
  #running: Promise<Result> | undefined;

  async run(work: () => Promise<Result>): Promise<Result> {
    this.#running ??= work().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}
