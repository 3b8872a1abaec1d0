/** Resources that were opened; closes all of them, the last first. */
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

  /** Closes everything, even if some of it fails. @throws AggregateError if something does not close */
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
