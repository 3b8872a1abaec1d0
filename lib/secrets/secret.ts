import { inspect } from 'node:util';

const shown = '[secret]';

/** A value that does not print: in a log, an error, JSON or a debugger it is `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the value, for the one place that sends it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}
