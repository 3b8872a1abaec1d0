/** What has been opened, so that all of it is closed, the last first. */
export class Opened {
  readonly #closers: (() => unknown)[] = [];

  async add<Part>(opening: Promise<Part>, close: (part: Part) => unknown): Promise<Part> {
    const part = await opening;
    this.onClose(() => close(part));
    return part;
  }

  onClose(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** @throws AggregateError when something does not close; the rest is closed all the same */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'not all of it could be closed');
  }
}
